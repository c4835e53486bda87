#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::data {

/// One file of a text, as it was when it was found.
struct TextFile {
  std::string path;
  Bytes size;
  std::int64_t modified_ns = 0;  ///< since 1970
};

/// A text: one file, or the files of a folder one after another, with nothing put between them.
struct Text {
  std::string path;             ///< absolute, without links
  std::vector<TextFile> files;  ///< sorted by name, byte by byte

  /// All files together.
  [[nodiscard]] Bytes size() const;
};

/// Finds the text at a path: a regular file, or the files of a folder (not of its sub-folders). Of a folder the files named *.txt are
/// taken, or, where it has none, all whose names don't begin with a dot.
///
/// Throws: FileError if it is missing, can't be read, is empty, or is neither a regular file nor a folder (a pipe, a device).
[[nodiscard]] Text find_text(const std::string& path);

/// Gives the text in pieces of at most 1 MiB, in order, to `take`.
///
/// Throws: FileError if a file can't be read, or has changed since it was found.
void read_text(const Text& text, const std::function<void(std::string_view)>& take);

}  // namespace twinax::data
