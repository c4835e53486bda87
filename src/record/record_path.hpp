#pragma once

#include <string>

namespace twinax::record {

/// Makes the folder that `path` is to stand in. Throws FileError.
void make_folder_of(const std::string& path);

/// Writes a file of `bytes` beside `path`, makes it durable and removes it. Throws FileError.
void probe_folder_of(const std::string& path, long bytes);

/// A name beside `path` for a file that is renamed to it when whole.
[[nodiscard]] std::string aside(const std::string& path);

/// Makes the file durable and gives it its name. Throws FileError.
void publish(const std::string& written, const std::string& path);

}  // namespace twinax::record
