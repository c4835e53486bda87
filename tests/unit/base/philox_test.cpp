#include "twinax/base/philox.hpp"

#include <array>
#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace twinax {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers of the authors' library Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox4x32, GivesTheAuthorsKnownAnswers) {
  constexpr std::uint32_t kOnes = 0xffffffffU;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysByAllOfSeedPurposeStreamAndIndex) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : {1ULL, 2ULL, 1ULL << 32}) {
    for (const Draw purpose : {Draw::InitialWeight, Draw::DataOrder}) {
      for (const std::uint32_t stream : {0U, 1U}) {
        for (const std::uint64_t index : {0ULL, 1ULL, 1ULL << 32}) seen.insert(Philox(seed, purpose, stream).bits(index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 3U * 2U * 2U * 3U);
}

TEST(Philox, PutsPurposeAndStreamIntoTheCounter) {
  const Philox random(0x0000000200000001ULL, Draw::Jitter, 9);
  EXPECT_EQ(random.words(0x0000000400000003ULL), philox4x32({3, 4, 3, 9}, {1, 2}));
}

TEST(Philox, UniformNumbersFillZeroToOneEvenly) {
  const Philox random(1, Draw::Test);
  constexpr std::uint64_t kCount = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double u = random.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  // Five standard errors: sqrt(1/12/n) = 0.00091 and sqrt(4/45/n) = 0.00094.
  EXPECT_NEAR(sum / kCount, 1.0 / 2, 0.0046);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.0047);
}

TEST(Philox, NormalNumbersHaveTheMomentsOfANormal) {
  const Philox random(2, Draw::Test);
  constexpr std::uint64_t kCount = 100'000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = random.normal(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors of the moments: sqrt(1/n), sqrt(2/n), sqrt(96/n).
  EXPECT_NEAR(sum / kCount, 0.0, 0.016);
  EXPECT_NEAR(squares / kCount, 1.0, 0.023);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.155);
}

}  // namespace
}  // namespace twinax
