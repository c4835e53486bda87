#pragma once

#include <string>

#include <sys/stat.h>

#include "twinax/base/handle.hpp"

namespace twinax::data {

/// An open file descriptor.
struct FileTraits {
  using Native = int;
  static Native null() { return -1; }
  static void close(Native descriptor) noexcept;
};
using FileHandle = Handle<FileTraits>;

/// What an errno means, in words.
[[nodiscard]] std::string errno_text(int error);

/// Opens a regular file to be read, and never waits for a pipe's other end. Throws FileError: what `path` is instead, or why it can't be
/// read; `what` is how the message calls it ("the text").
[[nodiscard]] FileHandle open_regular(const std::string& path, const std::string& what);

/// What the system says about an open file. Throws FileError.
[[nodiscard]] struct stat status_of(const FileHandle& file, const std::string& path);

/// "a pipe", "a device" ...: what a mode of `stat` is.
[[nodiscard]] std::string kind_of_file(mode_t mode);

}  // namespace twinax::data
