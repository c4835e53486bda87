#include "twinax/base/dtype.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace twinax {
namespace {

float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

TEST(Dtype, HasTheSizeOfItsElements) {
  EXPECT_EQ(size_of(Dtype::Fp32), Bytes{4});
  EXPECT_EQ(size_of(Dtype::Bf16), Bytes{2});
}

TEST(Bf16, HoldsItsOwnValuesExactly) {
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    const auto bf16 = static_cast<std::uint16_t>(high);
    if (std::isnan(from_bf16(bf16))) continue;
    EXPECT_EQ(to_bf16(from_bf16(bf16)), bf16);
  }
}

TEST(Bf16, RoundsTiesToEven) {
  EXPECT_EQ(to_bf16(from_bits(0x3f808000U)), 0x3f80U);  // 1 + half a step: down to even
  EXPECT_EQ(to_bf16(from_bits(0x3f818000U)), 0x3f82U);  // up to even
  EXPECT_EQ(to_bf16(from_bits(0x3f808001U)), 0x3f81U);  // just above the tie
  EXPECT_EQ(to_bf16(from_bits(0x3f817fffU)), 0x3f81U);  // just below it
  EXPECT_EQ(to_bf16(from_bits(0xbf808000U)), 0xbf80U);  // the same below zero
}

TEST(Bf16, RoundsTheLargestFloatToInfinity) {
  EXPECT_TRUE(std::isinf(from_bf16(to_bf16(std::numeric_limits<float>::max()))));
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()), 0xff80U);
}

TEST(Bf16, KeepsNaNWhereverItsBitsAre) {
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bits(0x7f800001U)))));  // truncation would make it infinity
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bits(0x7fffffffU)))));  // rounding would make it -0
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bits(0xffffffffU)))));
}

TEST(Bf16, KeepsTheSignOfZeroAndOfTinyNumbers) {
  EXPECT_EQ(to_bf16(-0.0F), 0x8000U);
  EXPECT_EQ(to_bf16(from_bits(0x00008000U)), 0x0000U);
  EXPECT_EQ(to_bf16(from_bits(0x80018000U)), 0x8002U);
}

}  // namespace
}  // namespace twinax
