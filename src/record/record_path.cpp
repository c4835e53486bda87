#include "record/record_path.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/handle.hpp"
#include "twinax/record/read_record.hpp"
#include "twinax/record/run_record.hpp"

namespace twinax::record {
namespace {

namespace fs = std::filesystem;

struct DescriptorTraits {
  using Native = int;
  static Native null() { return -1; }
  static void close(Native native) noexcept { ::close(native); }
};
using Descriptor = Handle<DescriptorTraits>;

[[noreturn]] void refuse(const std::string& path, const std::string& doing, int code) {
  throw FileError(fmt::format("{}: {}: {}; choose another path, or make room", path, doing, std::strerror(code)));
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

void write_zeros(int descriptor, long bytes, const std::string& path) {
  constexpr std::size_t kBlock = 65536;
  static const std::array<char, kBlock> zeros{};
  for (long left = bytes; left > 0;) {
    const ssize_t written = ::write(descriptor, zeros.data(), std::min<std::size_t>(kBlock, static_cast<std::size_t>(left)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(path, "can't write a record here", errno);
    left -= written;
  }
  if (fsync(descriptor) != 0) refuse(path, "can't write a record here", errno);
}

}  // namespace

void make_folder_of(const std::string& path) {
  std::error_code failed;
  const fs::path folder = folder_of(path);
  fs::create_directories(folder, failed);
  if (failed) refuse(path, fmt::format("can't make the folder {}", folder.string()), failed.value());
  if (!fs::is_directory(folder, failed)) throw FileError(fmt::format("{}: {} is no folder", path, folder.string()));
}

std::string aside(const std::string& path) {
  return fmt::format("{}.{}.part", path, getpid());
}

void probe_folder_of(const std::string& path, long bytes) {
  const std::string probe = aside(path);
  const Descriptor descriptor(::open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!descriptor.is_open()) refuse(path, "can't write a record here", errno);
  try {
    write_zeros(descriptor.get(), bytes, path);
  } catch (const FileError&) {
    ::unlink(probe.c_str());
    throw;
  }
  ::unlink(probe.c_str());
}

void publish(const std::string& written, const std::string& path) {
  const Descriptor descriptor(::open(written.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.is_open() || fsync(descriptor.get()) != 0) refuse(path, "can't make the file durable", errno);
  if (std::rename(written.c_str(), path.c_str()) != 0) refuse(path, "can't give the file its name", errno);
}

void check_record_path(const std::string& path, bool overwrite) {
  if (path.empty()) throw FileError("the record has no path; name a file with record.path or --record");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw FileError(fmt::format("{}: is a folder; name a file in it", path));
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) throw FileError(fmt::format("{}: is no regular file", path));
  if (!overwrite && is_complete_record(path)) {
    throw FileError(fmt::format("{}: is the complete record of an earlier run; remove it or choose another path", path));
  }
  make_folder_of(path);
  constexpr long kProbeBytes = 1 << 20;  // more than an empty record takes
  probe_folder_of(path, kProbeBytes);
}

}  // namespace twinax::record
