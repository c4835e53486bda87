#include "twinax/data/text.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "data/file_handle.hpp"

namespace twinax::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1 << 20;

std::int64_t modified_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

TextFile describe(const std::string& path) {
  const FileHandle file = open_regular(path, "the text");
  const struct stat status = status_of(file, path);
  return {.path = path, .size = {status.st_size}, .modified_ns = modified_ns(status)};
}

/// The names of a folder's files that are text, unsorted; sub-folders are left out.
std::vector<std::string> text_names(const fs::path& folder) {
  std::vector<std::string> named_text;
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;  // what can't be told apart is kept, and named when it is opened
    if (entry->is_directory(unknown)) continue;
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    (name.ends_with(".txt") ? named_text : others).push_back(name);
  }
  if (error) throw FileError(fmt::format("listing the folder of texts {}: {}", folder.string(), error.message()));
  return named_text.empty() ? others : named_text;
}

void read_file(const TextFile& file, std::string& piece, const std::function<void(std::string_view)>& take) {
  const FileHandle handle = open_regular(file.path, "the text");
  std::int64_t total = 0;
  while (true) {
    const ssize_t got = ::read(handle.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(fmt::format("reading the text {}: {}", file.path, errno_text(errno)));
    if (got == 0) break;
    total += got;
    take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
  if (total != file.size.value || modified_ns(status_of(handle, file.path)) != file.modified_ns) {
    throw FileError(fmt::format("the text {} changed while it was read; start again when it is complete", file.path));
  }
}

}  // namespace

Bytes Text::size() const {
  Bytes sum;
  for (const auto& file : files) sum += file.size;
  return sum;
}

Text find_text(const std::string& path) {
  if (path.empty()) throw FileError("no text is named: set data.path to a text file or a folder of text files");
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error)
    throw FileError(
        fmt::format("looking for the text {}: {}; set data.path to a text file or a folder of text files", path, error.message()));
  Text text{.path = whole.string(), .files = {}};
  const bool is_folder = fs::is_directory(whole, error);
  if (is_folder) {
    std::vector<std::string> names = text_names(whole);
    std::ranges::sort(names);
    for (const auto& name : names) text.files.push_back(describe((whole / name).string()));
  } else {
    text.files.push_back(describe(text.path));
  }
  if (text.files.empty()) throw FileError(fmt::format("the folder of texts {} holds no files (its sub-folders are not searched)", path));
  if (text.size().value == 0) throw FileError(fmt::format("the text {} is empty", path));
  return text;
}

void read_text(const Text& text, const std::function<void(std::string_view)>& take) {
  std::string piece(kPieceBytes, '\0');
  for (const auto& file : text.files) read_file(file, piece, take);
}

}  // namespace twinax::data
