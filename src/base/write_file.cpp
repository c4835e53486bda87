#include "twinax/base/write_file.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax {
namespace {

std::string aside_of(const std::string& path) {
  return path + ".part";
}

std::string last_error() {
  return std::generic_category().message(errno);
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  const std::string aside = aside_of(path);
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw FileError(fmt::format("writing {}: {}", aside, last_error()));
  }
  std::error_code error;
  std::filesystem::rename(aside, path, error);
  if (error) throw FileError(fmt::format("renaming {} to {}: {}", aside, path, error.message()));
}

void check_can_write(std::string_view option, const std::string& path) {
  const std::string aside = aside_of(path);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw ConfigError(fmt::format("{} {}: is a folder", option, path));
  const bool was_there = std::filesystem::exists(aside, error);
  if (!std::ofstream(aside, std::ios::binary | std::ios::app)) {
    throw ConfigError(fmt::format("{} {}: can't be written: {}", option, path, last_error()));
  }
  if (!was_there) std::filesystem::remove(aside, error);
}

}  // namespace twinax
