#include "twinax/base/units.hpp"

#include "gtest/gtest.h"

namespace twinax {
namespace {

TEST(Units, AGigabitIsAnEighthOfADecimalGigabyte) {
  EXPECT_EQ(gbit_per_s(8), BytesPerSecond{1e9});
  EXPECT_EQ(Bytes{125'000'000} / gbit_per_s(1), Seconds{1});
}

TEST(Units, VolumeTimeAndRateAreOneTriangle) {
  EXPECT_EQ(Bytes{1000} / BytesPerSecond{250}, Seconds{4});
  EXPECT_EQ(Bytes{1000} / Seconds{4}, BytesPerSecond{250});
  EXPECT_EQ(Flops{6e9} / FlopsPerSecond{2e9}, Seconds{3});
  EXPECT_EQ(Flops{6e9} / Seconds{3}, FlopsPerSecond{2e9});
}

TEST(Units, RatiosOfLikeQuantitiesArePlainNumbers) {
  EXPECT_EQ(Seconds{3} / Seconds{2}, 1.5);
  EXPECT_EQ(gbit_per_s(100) / gbit_per_s(25), 4.0);
  EXPECT_EQ(FlopsPerSecond{3e12} / FlopsPerSecond{1e12}, 3.0);
}

TEST(Units, SumsAndMultiplesKeepTheirUnit) {
  Bytes volume = mib(1) + Bytes{24} - Bytes{4};
  volume += Bytes{10};
  volume -= Bytes{30};
  EXPECT_EQ(volume, Bytes{1'048'576});
  EXPECT_EQ(mib(1) * 3, Bytes{3'145'728});
  Seconds time = Seconds{1.5} + Seconds{0.25} - Seconds{0.75};
  time += Seconds{1};
  EXPECT_EQ(time * 2, Seconds{4});
  EXPECT_EQ(time / 4, Seconds{0.5});
  Flops work = Flops{2} + Flops{3} * 2;
  work += Flops{4};
  EXPECT_EQ(work, Flops{12});
  EXPECT_EQ(BytesPerSecond{8} * 2 / 4, BytesPerSecond{4});
}

TEST(Units, AreOrdered) {
  EXPECT_LT(Bytes{1}, Bytes{2});
  EXPECT_LT(Seconds{1e-9}, Seconds{1e-6});
  EXPECT_GT(gbit_per_s(2), gbit_per_s(1));
}

}  // namespace
}  // namespace twinax
