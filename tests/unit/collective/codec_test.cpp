#include "collective/codec.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"

#include "support/nearest_bf16.hpp"

namespace twinax::collective {
namespace {

std::vector<std::uint16_t> encoded(const std::vector<float>& values) {
  std::vector<std::uint16_t> bf16(values.size());
  encode(values, std::as_writable_bytes(std::span(bf16)), Dtype::Bf16);
  return bf16;
}

/// Floats of every exponent, many of them halfway between two bf16 numbers or just beside.
std::vector<float> many_floats() {
  std::vector<float> values;
  const Philox random(11, Draw::Test);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.bits(i));
    for (const std::uint32_t low : {bits & 0xffffU, 0x8000U, 0x7fffU, 0x8001U}) {
      const auto value = std::bit_cast<float>((bits & 0xffff0000U) | low);
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  return values;
}

TEST(Codec, RoundsToTheNearestBf16AndTiesToEven) {
  const std::vector<float> values = many_floats();
  const std::vector<std::uint16_t> bf16 = encoded(values);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bf16[i], test::nearest_bf16(values[i])) << values[i];
}

TEST(Codec, RoundsAtTheEdgesOfTheRange) {
  const float largest_bf16 = std::bit_cast<float>(0x7f7f0000U);
  const float last_before_infinity = std::bit_cast<float>(0x7f7f7fffU);
  const float first_of_infinity = std::bit_cast<float>(0x7f7f8000U);
  const std::vector<float> values{
      0.0F, -0.0F, std::numeric_limits<float>::denorm_min(), largest_bf16, last_before_infinity, first_of_infinity};
  EXPECT_THAT(encoded(values), ::testing::ElementsAre(0, 0x8000, 0, 0x7f7f, 0x7f7f, 0x7f80));
}

TEST(Codec, KeepsInfinitiesAndNaNs) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{infinity, -infinity, std::nanf(""), std::bit_cast<float>(0x7f800001U), std::bit_cast<float>(0xffffffffU)};
  std::vector<std::uint16_t> bf16 = encoded(values);
  std::vector<float> back(values.size());
  decode(std::as_bytes(std::span(bf16)), back, Dtype::Bf16);
  EXPECT_EQ(back[0], infinity);
  EXPECT_EQ(back[1], -infinity);
  for (std::size_t i = 2; i < back.size(); ++i) EXPECT_TRUE(std::isnan(back[i])) << i;
}

TEST(Codec, BringsEveryBf16BackAsItIs) {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values(all.size());
  decode(std::as_bytes(std::span(all)), values, Dtype::Bf16);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), static_cast<std::uint32_t>(i) << 16);
}

TEST(Codec, BringsEveryBitOfFp32Back) {
  const std::vector<float> values = many_floats();
  std::vector<std::byte> bytes(values.size() * 4);
  std::vector<float> back(values.size());
  encode(values, bytes, Dtype::Fp32);
  decode(bytes, back, Dtype::Fp32);
  EXPECT_EQ(std::memcmp(back.data(), values.data(), bytes.size()), 0);
}

TEST(Codec, AddsWhatDecodingGives) {
  std::vector<float> given;
  for (const float value : many_floats()) {
    if (std::fabs(value) < 1e30F) given.push_back(value);
  }
  for (const Dtype wire : {Dtype::Fp32, Dtype::Bf16}) {
    std::vector<std::byte> bytes(given.size() * static_cast<std::size_t>(size_of(wire).value));
    encode(given, bytes, wire);
    std::vector<float> sum(given.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<float>(i);
    add_decoded(bytes, sum, wire);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const float part = wire == Dtype::Bf16 ? test::through_bf16(given[i]) : given[i];
      ASSERT_EQ(sum[i], static_cast<float>(i) + part) << i;
    }
  }
}

TEST(Codec, TakesNothingAtAll) {
  for (const Dtype wire : {Dtype::Fp32, Dtype::Bf16}) {
    encode({}, {}, wire);
    decode({}, {}, wire);
    add_decoded({}, {}, wire);
  }
}

TEST(Codec, RefusesSizesThatDoNotFit) {
  std::vector<float> values(3);
  std::vector<std::byte> bytes(8);
  EXPECT_THAT([&] { encode(values, bytes, Dtype::Bf16); },
              ::testing::ThrowsMessage<InvalidArgument>("3 values do not fit 8 bytes on the wire"));
  EXPECT_THROW(decode(bytes, values, Dtype::Fp32), InvalidArgument);
  EXPECT_THROW(add_decoded(bytes, values, Dtype::Fp32), InvalidArgument);
}

}  // namespace
}  // namespace twinax::collective
