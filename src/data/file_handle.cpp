#include "data/file_handle.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

namespace twinax::data {

void FileTraits::close(Native descriptor) noexcept {
  ::close(descriptor);
}

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

FileHandle open_regular(const std::string& path, const std::string& what) {
  struct stat status {};  // asked before opening: to open a pipe or a device may do something to it
  if (::stat(path.c_str(), &status) != 0) throw FileError(fmt::format("looking for {} {}: {}", what, path, errno_text(errno)));
  if (!S_ISREG(status.st_mode)) {
    throw FileError(fmt::format("{} {} is {}; a regular file is needed", what, path, kind_of_file(status.st_mode)));
  }
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) throw FileError(fmt::format("opening {} {}: {}", what, path, errno_text(errno)));
  return file;
}

struct stat status_of(const FileHandle& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw FileError(fmt::format("asking for the state of {}: {}", path, errno_text(errno)));
  return status;
}

std::string kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

}  // namespace twinax::data
