#pragma once

#include <span>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/base/toml.hpp"

namespace twinax::app {

/// A file's entries after those of the file it names as `base` (a path relative to its own), and so on; `base` itself is left out.
/// Throws FileError or ConfigError; a chain of bases that comes back to itself is refused.
[[nodiscard]] std::vector<TomlFile> read_with_bases(const std::string& file);

/// The effective config: bases first, then the file, then each --set in turn. Tables named in `ignored_tables` are skipped.
[[nodiscard]] Config load_config(const std::string& file, std::span<const std::string> sets,
                                 std::span<const std::string_view> ignored_tables = {});

/// A scalar as it would be written with --set.
[[nodiscard]] std::string to_set_text(const TomlValue::Scalar& value);

}  // namespace twinax::app
