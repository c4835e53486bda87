#pragma once

#include <string>
#include <vector>

#include "twinax/record/environment.hpp"

#include "record/hdf5.hpp"

namespace twinax::record {

/// The attributes of /environment, written and read by one table.
void write_environment(hid_t group, const Environment& environment, const std::string& path);
/// Attributes that are missing keep their defaults.
[[nodiscard]] Environment read_environment(hid_t group, const std::string& path);
/// The attributes' names, for the schema's test.
[[nodiscard]] std::vector<std::string> environment_names();

}  // namespace twinax::record
