#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twinax {

/// The host's name, as the operating system has it; "unknown" if it has none.
[[nodiscard]] std::string host_name();

/// What a folder holds, sorted; nothing if it can't be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

}  // namespace twinax
