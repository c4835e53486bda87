#pragma once

#include <string>
#include <string_view>

namespace twinax {

/// Writes `content` to `path`.part, then gives that the name: whoever reads `path` sees what was there before or all of it.
///
/// Throws:     FileError with what the system says; `path` is then as it was.
void write_file(const std::string& path, std::string_view content);

/// Asks, before long work, whether write_file() could write there. Leaves nothing behind.
///
/// Throws:     ConfigError: "`option` `path`: " and what the system says.
void check_can_write(std::string_view option, const std::string& path);

}  // namespace twinax
