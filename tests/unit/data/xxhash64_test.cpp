#include "data/xxhash64.hpp"

#include <set>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace twinax::data {
namespace {

std::uint64_t hash(std::string_view text, std::uint64_t seed = 0) {
  return xxhash64(std::as_bytes(std::span(text)), seed);
}

// Published answers: of the reference implementation's tools and of its bindings' documentation.
TEST(Xxhash64, GivesTheKnownAnswers) {
  EXPECT_EQ(hash(""), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(hash("a"), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(hash("abc"), 0x44BC2CF5AD770999ULL);
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1ULL);
  EXPECT_EQ(hash("xxhash", 20141025), 0xB559B98D844E0635ULL);
}

TEST(Xxhash64, SeesEverySingleBitAtEveryLength) {
  for (std::size_t length = 1; length <= 70; ++length) {
    std::vector<std::byte> bytes(length, std::byte{0x5a});
    std::set<std::uint64_t> seen{xxhash64(bytes)};
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_TRUE(seen.insert(xxhash64(bytes)).second) << "bit " << bit << " of " << length << " bytes";
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

}  // namespace
}  // namespace twinax::data
