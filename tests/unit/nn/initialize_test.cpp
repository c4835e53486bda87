#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/nn/gpt.hpp"

namespace twinax::nn {
namespace {

UnitSpec small_unit() {
  UnitSpec unit{"unit", {}, 0};
  unit.parameters.push_back({"matrix", {100, 100}, 0, 0.5, 0, true});
  unit.parameters.push_back({"gain", {3}, 10'000, 0, 1, false});
  unit.elements = 10'003;
  return unit;
}

TEST(Initialize, DrawsTheNamedDistributionAndConstants) {
  std::vector<double> values(10'003);
  initialize<double>(small_unit(), 0, 42, 0, values);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    sum += values[i];
    squares += values[i] * values[i];
  }
  EXPECT_NEAR(sum / 1e4, 0, 4 * 0.5 / 100);  // four standard errors of the mean
  EXPECT_NEAR(std::sqrt(squares / 1e4), 0.5, 4 * 0.5 / std::sqrt(2e4));
  for (std::size_t i = 10'000; i < 10'003; ++i) EXPECT_EQ(values[i], 1.0);
}

TEST(Initialize, GivesAnyPartTheValuesItHasInTheWhole) {
  std::vector<float> whole(10'003), part(700);
  initialize<float>(small_unit(), 3, 42, 0, whole);
  for (const std::int64_t begin : {0, 1, 4'999, 9'303}) {
    initialize<float>(small_unit(), 3, 42, begin, part);
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[static_cast<std::size_t>(begin) + i]) << begin << " + " << i;
  }
}

TEST(Initialize, IsZeroInThePadding) {
  std::vector<float> values(5, 9.0F);
  initialize<float>(small_unit(), 0, 42, 10'001, values);
  EXPECT_EQ(values, (std::vector<float>{1, 1, 0, 0, 0}));
}

TEST(Initialize, DependsOnSeedAndUnit) {
  std::vector<float> a(8), b(8), c(8);
  initialize<float>(small_unit(), 0, 1, 0, a);
  initialize<float>(small_unit(), 0, 2, 0, b);
  initialize<float>(small_unit(), 1, 1, 0, c);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
}

}  // namespace
}  // namespace twinax::nn
