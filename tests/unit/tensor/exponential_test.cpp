#include "tensor/functors/exponential.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace twinax::tensor {
namespace {

TEST(Exponential, IsWithinTwoUnitsInTheLastPlaceOfTheLibrarys) {
  double worst = 0;
  for (double x = -87.3; x <= 88.0; x += 0.00037) {
    const auto single = static_cast<float>(x);
    const double wanted = std::exp(static_cast<double>(single));
    worst = std::max(worst, std::abs(static_cast<double>(exponential(single)) / wanted - 1));
  }
  EXPECT_LT(worst, 2 * std::numeric_limits<float>::epsilon());
}

TEST(Exponential, IsExactlyOneAtZero) {
  EXPECT_EQ(exponential(0.0F), 1.0F);
}

TEST(Exponential, VanishesFarBelowAndStaysFiniteFarAbove) {
  EXPECT_EQ(exponential(-88.0F), 0.0F);
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_TRUE(std::isfinite(exponential(1000.0F)));
  EXPECT_GT(exponential(1000.0F), 1e38F);
}

TEST(Exponential, KeepsNotANumber) {
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace twinax::tensor
