#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "twinax/data/token_file.hpp"

namespace twinax::data {

/// The bytes of a token file, taken apart; views of the bytes that were given.
struct TokenLayout {
  TokenFileHeader header;
  std::size_t token_bytes = 1;         ///< 1 or 2
  std::span<const std::byte> payload;  ///< the tokens, little-endian
  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(payload.size() / token_bytes); }
};

/// Bytes of a token with this vocabulary. Throws InvalidArgument unless 1 <= vocabulary <= 65,536.
[[nodiscard]] std::size_t token_bytes_of(std::int64_t vocabulary);

/// The bytes before the first token for a file with this header; a multiple of 64, so that tokens are aligned.
[[nodiscard]] std::size_t token_header_bytes(const TokenFileHeader& header);

/// The header's bytes, with the checksums of the payload and of itself.
[[nodiscard]] std::vector<std::byte> seal_tokens(const TokenFileHeader& header, std::span<const std::byte> payload);

/// Checks all of a file's bytes and takes it apart. Throws FileError: `path`, and what is wrong. Never reads outside `bytes`.
[[nodiscard]] TokenLayout parse_tokens(std::span<const std::byte> bytes, const std::string& path);

}  // namespace twinax::data
