#include "base/config_value.hpp"

#include <limits>
#include <string>

#include "twinax/base/error.hpp"

#include "gtest/gtest.h"

namespace twinax {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
const KeyDeclaration kRate{"net.rate", KeyType::Rate, "25Gbit/s", 1, kAny, {}, "a rate"};
const KeyDeclaration kTime{"net.latency", KeyType::Seconds, "15us", 0, 1, {}, "a time"};

TEST(ReadValue, ReadsRates) {
  EXPECT_EQ(std::get<double>(read_value(kRate, "10Gbit/s")), 1.25e9);
  EXPECT_EQ(std::get<double>(read_value(kRate, TomlValue{{std::string("1GB/s")}})), 1e9);
  EXPECT_EQ(toml_text(kRate, TomlValue::Scalar{3.125e9}), "\"25Gbit/s\"");
}

TEST(ReadValue, TakesNoBareNumberForATimeWhoseNameDoesNotSaySeconds) {
  EXPECT_EQ(std::get<double>(read_value(kTime, "15us")), 15e-6);
  EXPECT_THROW((void)read_value(kTime, TomlValue{{1.0}}), InvalidArgument);
  EXPECT_THROW((void)read_value(kTime, "1"), InvalidArgument);
}

TEST(LimitsOf, ShowsQuantitiesInTheirUnits) {
  EXPECT_EQ(limits_of(kRate), "at least 1B/s");
  EXPECT_EQ(limits_of(kTime), "0s to 1s");
}

}  // namespace
}  // namespace twinax
