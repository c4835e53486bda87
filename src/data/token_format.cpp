#include "data/token_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"

#include "data/xxhash64.hpp"

namespace twinax::data {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr std::array<char, 8> kMagic{'T', 'W', 'N', 'X', 'T', 'O', 'K', 'N'};
constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kLargestVocabulary = 65'536;
constexpr std::size_t kAlignment = 64;

/// The head of the file; the path of the text follows it, then zeros up to `payload_offset`.
struct Head {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t token_bytes;
  std::uint64_t head_hash;  ///< of the bytes [0, payload_offset), this field 0
  std::uint64_t payload_hash;
  std::uint64_t payload_offset;
  std::uint64_t tokens;
  std::uint64_t vocabulary;
  std::uint64_t text_state;
  std::uint64_t text_path_bytes;
  std::array<char, 64> tokenizer;
};
static_assert(sizeof(Head) == 136 && std::is_trivially_copyable_v<Head>);

std::uint64_t hash_of_head(std::span<const std::byte> bytes) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  std::memset(copy.data() + offsetof(Head, head_hash), 0, sizeof(Head::head_hash));
  return xxhash64(copy);
}

bool holds_tokens_above(const TokenLayout& layout) {
  const std::int64_t vocabulary = layout.header.vocabulary;
  if (vocabulary == (std::int64_t{1} << (8 * layout.token_bytes))) return false;
  if (layout.token_bytes == 1)
    return std::ranges::any_of(layout.payload, [&](std::byte token) { return std::to_integer<int>(token) >= vocabulary; });
  for (std::size_t at = 0; at < layout.payload.size(); at += 2) {
    std::uint16_t token;
    std::memcpy(&token, layout.payload.data() + at, sizeof token);
    if (token >= vocabulary) return true;
  }
  return false;
}

/// What is wrong with the head of a file of Twinax's; empty if nothing.
std::string fault_of(const Head& head, std::span<const std::byte> bytes) {
  if (head.payload_offset < sizeof(Head) || head.payload_offset > bytes.size()) return "is cut off in its header";
  if (head.head_hash != hash_of_head(bytes.first(head.payload_offset))) return "has a damaged header";
  if (head.vocabulary < 1 || head.vocabulary > kLargestVocabulary) return fmt::format("has a vocabulary of {}", head.vocabulary);
  if (head.token_bytes != token_bytes_of(static_cast<std::int64_t>(head.vocabulary)))
    return fmt::format("has tokens of {} bytes", head.token_bytes);
  if (head.text_path_bytes > head.payload_offset - sizeof(Head)) return "has a text's name that ends outside its header";
  if (head.tokenizer.back() != '\0') return "has a tokenizer's name without end";
  const std::uint64_t held = bytes.size() - head.payload_offset;
  if (head.tokens > held / head.token_bytes || head.tokens * head.token_bytes != held) {
    return fmt::format("has {} bytes of tokens where its header says {} tokens of {} bytes", held, head.tokens, head.token_bytes);
  }
  if (head.payload_hash != xxhash64(bytes.subspan(head.payload_offset))) return "has damaged tokens";
  return {};
}

}  // namespace

std::size_t token_bytes_of(std::int64_t vocabulary) {
  if (vocabulary < 1 || vocabulary > kLargestVocabulary) {
    throw InvalidArgument(fmt::format("a token file for a vocabulary of {}: 1 to {} are possible", vocabulary, kLargestVocabulary));
  }
  return vocabulary <= 256 ? 1 : 2;
}

std::size_t token_header_bytes(const TokenFileHeader& header) {
  return (sizeof(Head) + header.text_path.size() + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<std::byte> seal_tokens(const TokenFileHeader& header, std::span<const std::byte> payload) {
  Head head{};
  if (header.tokenizer.size() >= head.tokenizer.size()) {
    throw InvalidArgument(
        fmt::format("a token file for the tokenizer {}: its name is longer than {} bytes", header.tokenizer, head.tokenizer.size() - 1));
  }
  const std::size_t token_bytes = token_bytes_of(header.vocabulary);
  head.magic = kMagic;
  head.version = kVersion;
  head.token_bytes = narrow<std::uint32_t>(token_bytes);
  head.payload_hash = xxhash64(payload);
  head.payload_offset = token_header_bytes(header);
  head.tokens = payload.size() / token_bytes;
  head.vocabulary = static_cast<std::uint64_t>(header.vocabulary);
  head.text_state = header.text_state;
  head.text_path_bytes = header.text_path.size();
  std::ranges::copy(header.tokenizer, head.tokenizer.begin());
  std::vector<std::byte> bytes(head.payload_offset);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::ranges::copy(std::as_bytes(std::span(header.text_path)), bytes.begin() + sizeof head);
  head.head_hash = hash_of_head(bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

TokenLayout parse_tokens(std::span<const std::byte> bytes, const std::string& path) {
  Head head{};
  std::ranges::copy(bytes.first(std::min(sizeof head, bytes.size())), std::as_writable_bytes(std::span(&head, 1)).begin());
  if (head.magic != kMagic) throw FileError(fmt::format("{} is no token file of Twinax", path));
  if (bytes.size() < sizeof head) throw FileError(fmt::format("the token file {} is cut off in its header", path));
  if (head.version != kVersion) {
    throw FileError(
        fmt::format("the token file {} has version {} of the format; this program reads version {}", path, head.version, kVersion));
  }
  const std::string fault = fault_of(head, bytes);
  if (!fault.empty()) throw FileError(fmt::format("the token file {} {}", path, fault));
  TokenLayout layout;
  layout.token_bytes = head.token_bytes;
  layout.payload = bytes.subspan(head.payload_offset);
  layout.header.tokenizer = head.tokenizer.data();
  layout.header.vocabulary = static_cast<std::int64_t>(head.vocabulary);
  layout.header.text_state = head.text_state;
  layout.header.text_path.resize(head.text_path_bytes);
  std::memcpy(layout.header.text_path.data(), bytes.data() + sizeof head, head.text_path_bytes);
  if (holds_tokens_above(layout))
    throw FileError(fmt::format("the token file {} holds tokens outside its vocabulary of {}", path, head.vocabulary));
  return layout;
}

}  // namespace twinax::data
