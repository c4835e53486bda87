#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace twinax::data {

/// What a token file says about itself.
struct TokenFileHeader {
  std::string tokenizer;         ///< at most 63 bytes
  std::string text_path;         ///< where the text was, for messages and to tell texts apart
  std::uint64_t text_state = 0;  ///< of the text's files (names, sizes, times): another value is another text
  std::int64_t vocabulary = 0;   ///< tokens are in [0, vocabulary), at most 65,536
};

/// Tokens prepared once, mapped into memory and shared by the processes of a host. The file is one of `twinax-tokens/1`: a header with
/// checksums, then the tokens in 8 bits where the vocabulary fits, else in 16.
///
/// Threads: any.
class TokenFile {
 public:
  /// Maps a file and checks all of it. Throws FileError: what it is instead of a token file, or how it is damaged.
  explicit TokenFile(const std::string& path);

  /// What the file says about itself.
  [[nodiscard]] const TokenFileHeader& header() const;
  /// Tokens in the file.
  [[nodiscard]] std::int64_t size() const;
  /// Copies tokens [first, first + out.size()). Throws InvalidArgument if the file ends before.
  void read(std::int64_t first, std::span<std::int32_t> out) const;

 private:
  struct Mapping;
  std::shared_ptr<const Mapping> mapping_;  // shared: copies of a TokenFile are views of one mapping, unmapped with the last
};

/// Writes a token file aside and renames it into place, so that `path` is never half-written; several processes may do so at once.
/// `produce` is called once, with a function that takes the tokens in order.
///
/// Throws: SystemError if it can't be written; InvalidArgument if a token is outside the vocabulary.
void write_token_file(const std::string& path, const TokenFileHeader& header,
                      const std::function<void(const std::function<void(std::span<const std::int32_t>)>&)>& produce);

}  // namespace twinax::data
