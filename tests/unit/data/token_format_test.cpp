#include "data/token_format.hpp"

#include <cstring>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"

#include "data/xxhash64.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::byte> file_of(const TokenFileHeader& header, const std::vector<std::byte>& payload) {
  auto bytes = seal_tokens(header, payload);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

const TokenFileHeader kHeader{.tokenizer = "bytes", .text_path = "/texts/a.txt", .text_state = 0x0123456789abcdefULL, .vocabulary = 256};

std::string error_of(std::span<const std::byte> bytes) {
  try {
    (void)parse_tokens(bytes, "x.tokens");
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenFormat, GivesBackWhatWasSealed) {
  const Philox random(1, Draw::Test);
  for (std::uint64_t i = 0; i < 200; ++i) {
    TokenFileHeader header = kHeader;
    header.text_path = std::string(random.bits(4 * i) % 200, 'p');
    header.vocabulary = i % 2 == 0 ? 256 : 65'536;
    header.text_state = random.bits(4 * i + 1);
    std::vector<std::byte> payload(2 * (random.bits(4 * i + 2) % 50), std::byte{static_cast<unsigned char>(i)});
    const auto bytes = file_of(header, payload);
    EXPECT_EQ((bytes.size() - payload.size()) % 64, 0U);
    EXPECT_EQ(bytes.size() - payload.size(), token_header_bytes(header));
    const TokenLayout layout = parse_tokens(bytes, "x.tokens");
    EXPECT_EQ(layout.header.tokenizer, header.tokenizer);
    EXPECT_EQ(layout.header.text_path, header.text_path);
    EXPECT_EQ(layout.header.text_state, header.text_state);
    EXPECT_EQ(layout.header.vocabulary, header.vocabulary);
    EXPECT_EQ(layout.token_bytes, i % 2 == 0 ? 1U : 2U);
    EXPECT_TRUE(std::ranges::equal(layout.payload, payload));
  }
}

TEST(TokenFormat, NoticesEverySingleBitThatFlips) {
  auto bytes = file_of(kHeader, std::vector<std::byte>(33, std::byte{65}));
  ASSERT_EQ(error_of(bytes), "no error");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_THAT(error_of(bytes), HasSubstr("x.tokens")) << "bit " << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(TokenFormat, NoticesEveryLengthAtWhichAFileIsCutOff) {
  const auto bytes = file_of(kHeader, std::vector<std::byte>(33, std::byte{65}));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_THAT(error_of(cut), HasSubstr("x.tokens")) << "of " << length << " bytes";
  }
  auto longer = bytes;
  longer.push_back(std::byte{65});
  EXPECT_THAT(error_of(longer), HasSubstr("34 bytes of tokens where its header says 33 tokens"));
}

TEST(TokenFormat, SaysWhatAForeignFileIsNot) {
  const std::string text = "In the beginning God created the heaven and the earth.";
  EXPECT_EQ(error_of(std::as_bytes(std::span(text))), "x.tokens is no token file of Twinax");
  EXPECT_EQ(error_of({}), "x.tokens is no token file of Twinax");
}

TEST(TokenFormat, RefusesANewerVersionByNumber) {
  auto bytes = file_of(kHeader, std::vector<std::byte>(3, std::byte{65}));
  bytes[8] = std::byte{2};
  EXPECT_THAT(error_of(bytes), AllOf(HasSubstr("version 2"), HasSubstr("reads version 1")));
}

TEST(TokenFormat, RefusesTokensOutsideTheVocabulary) {
  TokenFileHeader header = kHeader;
  header.vocabulary = 100;
  EXPECT_EQ(error_of(file_of(header, {std::byte{99}})), "no error");
  EXPECT_THAT(error_of(file_of(header, {std::byte{99}, std::byte{100}})), HasSubstr("outside its vocabulary of 100"));
  header.vocabulary = 300;  // two bytes each: 299 = 0x012b
  EXPECT_EQ(error_of(file_of(header, {std::byte{0x2b}, std::byte{1}})), "no error");
  EXPECT_THAT(error_of(file_of(header, {std::byte{0x2c}, std::byte{1}})), HasSubstr("outside its vocabulary of 300"));
}

TEST(TokenFormat, RefusesWhatItCannotHold) {
  EXPECT_THROW((void)token_bytes_of(0), InvalidArgument);
  EXPECT_THROW((void)token_bytes_of(65'537), InvalidArgument);
  EXPECT_EQ(token_bytes_of(256), 1U);
  EXPECT_EQ(token_bytes_of(257), 2U);
  TokenFileHeader header = kHeader;
  header.tokenizer = std::string(64, 't');
  EXPECT_THROW((void)seal_tokens(header, {}), InvalidArgument);
}

}  // namespace
}  // namespace twinax::data
