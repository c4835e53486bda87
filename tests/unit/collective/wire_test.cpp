#include "twinax/collective/wire.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"

#include "collective/codec.hpp"

namespace twinax::collective {
namespace {

std::vector<float> through_int8(const std::vector<float>& values) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(wire_size(std::ssize(values), Dtype::Int8).value));
  encode(values, bytes, Dtype::Int8);
  std::vector<float> back(values.size());
  decode(bytes, back, Dtype::Int8);
  return back;
}

/// The largest magnitude of the block of 64 that element i is in.
double largest_beside(const std::vector<float>& values, std::size_t i) {
  double largest = 0;
  for (std::size_t k = i / 64 * 64; k < std::min(i / 64 * 64 + 64, values.size()); ++k) {
    largest = std::max<double>(largest, std::fabs(values[k]));
  }
  return largest;
}

/// Normal numbers whose magnitude changes from block to block, over many powers of two.
std::vector<float> normal_blocks(std::size_t count) {
  const Philox random(3, Draw::Test);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::ldexp(random.normal(i), static_cast<int>(i / 64 * 7 % 200) - 100));
  return values;
}

TEST(WireSize, IsAByteAValueAndAScaleForEachBlockOf64) {
  EXPECT_EQ(wire_size(0, Dtype::Int8), Bytes{0});
  EXPECT_EQ(wire_size(1, Dtype::Int8), Bytes{1 + 4});
  EXPECT_EQ(wire_size(64, Dtype::Int8), Bytes{64 + 4});
  EXPECT_EQ(wire_size(65, Dtype::Int8), Bytes{65 + 8});
  EXPECT_EQ(wire_size(65, Dtype::Bf16), Bytes{130});
  EXPECT_EQ(wire_size(65, Dtype::Fp32), Bytes{260});
}

TEST(Int8, IsWithinHalfAStepOfItsBlock) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{10'000}}) {
    const std::vector<float> values = normal_blocks(count);
    const std::vector<float> back = through_int8(values);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_LE(std::fabs(static_cast<double>(back[i]) - values[i]), largest_beside(values, i) / 254 * (1 + 1e-5)) << i << " of " << count;
    }
  }
}

TEST(Int8, LosesOfUniformNumbersTheVarianceOfUniformRounding) {
  // A step of 1 / 127 where the largest is 1: rounding to the nearest has the variance step^2 / 12.
  const Philox random(4, Draw::Test);
  std::vector<float> values(64 * 2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 64 == 0 ? 1.0F : static_cast<float>(2 * random.uniform(i) - 1);
  const std::vector<float> back = through_int8(values);
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) squares += std::pow(static_cast<double>(back[i]) - values[i], 2);
  const double expected = 1.0 / (127.0 * 127.0) / 12 * (63.0 / 64.0);
  EXPECT_NEAR(squares / static_cast<double>(values.size()), expected, 0.02 * expected);
}

TEST(Int8, BringsWholeMultiplesOfItsScaleBack) {
  std::vector<float> values;
  for (int step = -127; step <= 127; ++step) values.push_back(0.25F * static_cast<float>(step));
  values.resize(320);
  for (std::size_t block = 0; block < 5; ++block) values[block * 64] = 127 * 0.25F;
  EXPECT_EQ(through_int8(values), values);
}

TEST(Int8, KeepsZerosAndRoundsWhatIsTooSmallForAScaleToZero) {
  std::vector<float> values(64, 0.0F);
  EXPECT_EQ(through_int8(values), values);
  values[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(through_int8(values), std::vector<float>(64, 0.0F));
}

TEST(Int8, MakesABlockNaNIfOneOfItsValuesIsNotFinite) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(128, 1.0F);
    values[5] = bad;
    const std::vector<float> back = through_int8(values);
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(std::isnan(back[i]), i < 64) << i;
  }
}

TEST(Int8, HoldsTheLargestNumber) {
  const std::vector<float> values(10, std::numeric_limits<float>::max());
  for (const float value : through_int8(values)) EXPECT_NEAR(value / values[0], 1, 1e-6);
}

TEST(ErrorFeedback, KeepsTheErrorOfAllRoundsTogetherAtThatOfOne) {
  // What has arrived after any number of rounds lacks what the last one lost: half a step of what was sent then, at most. What was sent
  // is no larger than the contribution and half a step of the round before.
  constexpr std::int64_t kValues = 200;
  constexpr int kPieces = 3;
  ErrorFeedback feedback(kValues, kPieces);
  const Philox random(5, Draw::Test);
  std::vector<double> given(kValues);
  std::vector<double> arrived(kValues);
  double largest = 0;
  for (std::uint64_t round = 0; round < 500; ++round) {
    std::vector<float> values(kValues);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(random.normal(round * kValues + i) + 0.01);
      given[i] += values[i];
      largest = std::max<double>(largest, std::fabs(values[i]));
    }
    feedback.apply(values, Dtype::Int8);
    constexpr std::size_t kPiece = (kValues + kPieces - 1) / kPieces;
    for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
      const auto end = std::min(begin + kPiece, values.size());
      const std::vector<float> back =
          through_int8({values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)});
      for (std::size_t i = begin; i < end; ++i) arrived[i] += back[i - begin];
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_NEAR(given[i], arrived[i] + feedback.missing()[i], 1e-3) << "round " << round << ", element " << i;
      ASSERT_LE(std::fabs(feedback.missing()[i]), largest / 254 * (1 + 1.0 / 253)) << "round " << round << ", element " << i;
    }
  }
}

TEST(ErrorFeedback, ForgetsWhatIsNotFinite) {
  ErrorFeedback feedback(64, 1);
  std::vector<float> values(64, std::nanf(""));
  feedback.apply(values, Dtype::Int8);
  for (const float missing : feedback.missing()) EXPECT_EQ(missing, 0.0F);
}

TEST(ErrorFeedback, LacksNothingInFp32) {
  ErrorFeedback feedback(100, 2);
  std::vector<float> values = normal_blocks(100);
  feedback.apply(values, Dtype::Fp32);
  EXPECT_EQ(values, normal_blocks(100));
  for (const float missing : feedback.missing()) EXPECT_EQ(missing, 0.0F);
  EXPECT_EQ(feedback.bytes(), Bytes{400});
}

}  // namespace
}  // namespace twinax::collective
