#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stdlib.h>  // mkdtemp

namespace twinax::test {

/// A folder of its own for a test, removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "twinax-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp of " + name);
    path_ = std::filesystem::canonical(name);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;  // what a test has left unremovable is no failure of the test
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of a name in it.
  [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  /// Writes a file in it, and gives its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw std::runtime_error("writing " + (path_ / name).string());
    return *this / name;
  }
  /// How many entries it has.
  [[nodiscard]] long entries() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  std::filesystem::path path_;
};

/// A whole file's bytes.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("reading " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace twinax::test
