#pragma once

#include <filesystem>

namespace twinax::app {

/// Finds a file or folder that belongs to the program ("experiments/catalog/networks.toml", "experiments"): beside the working directory,
/// in the source tree it was built from, or where it was installed. Throws FileError that lists where it looked.
[[nodiscard]] std::filesystem::path find_shared(const std::filesystem::path& relative);

}  // namespace twinax::app
