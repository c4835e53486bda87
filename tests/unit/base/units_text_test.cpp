#include "twinax/base/units_text.hpp"

#include <clocale>
#include <cmath>
#include <cstdint>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax {
namespace {

template <class Parse>
std::string refusal(Parse parse, std::string_view text) {
  try {
    (void)parse(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "(accepted)";
}

constexpr const char* kVolumes = "; units are B KiB MiB GiB TiB KB MB GB TB, e.g. \"512MiB\"";
constexpr const char* kTimes = "; units are s ms us ns min h, e.g. \"15us\"";
constexpr const char* kRates =
    "; units are bit/s kbit/s Mbit/s Gbit/s Tbit/s B/s KB/s MB/s GB/s TB/s KiB/s MiB/s GiB/s TiB/s, e.g. \"25Gbit/s\"";

TEST(ParseBytes, KnowsDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("64B"), Bytes{64});
  EXPECT_EQ(parse_bytes("3KB"), Bytes{3'000});
  EXPECT_EQ(parse_bytes("1.5GB"), Bytes{1'500'000'000});
  EXPECT_EQ(parse_bytes("2TB"), Bytes{2'000'000'000'000});
  EXPECT_EQ(parse_bytes("256KiB"), Bytes{262'144});
  EXPECT_EQ(parse_bytes("512MiB"), Bytes{536'870'912});
  EXPECT_EQ(parse_bytes("0.5 GiB"), Bytes{536'870'912});
  EXPECT_EQ(parse_bytes("1TiB"), Bytes{1'099'511'627'776});
  EXPECT_EQ(parse_bytes("0B"), Bytes{0});
}

TEST(ParseBytes, IsExactAboveWhatADoubleHolds) {
  EXPECT_EQ(parse_bytes("9007199254740993B"), Bytes{9'007'199'254'740'993});
}

TEST(ParseBytes, RefusesWhatIsNoVolume) {
  EXPECT_EQ(refusal(parse_bytes, "512"), std::string("\"512\" is no volume of data: a bare number has no unit") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, ""), std::string("\"\" is no volume of data: it is empty") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "-1B"), std::string("\"-1B\" is no volume of data: it is negative") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "MiB"), std::string("\"MiB\" is no volume of data: it does not begin with a number") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "5mb"), std::string("\"5mb\" is no volume of data: the unit \"mb\" is unknown") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "5Mb"), std::string("\"5Mb\" is no volume of data: the unit \"Mb\" is unknown") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "1MiB!"), std::string("\"1MiB!\" is no volume of data: the unit \"MiB!\" is unknown") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "9000000TiB"), std::string("\"9000000TiB\" is no volume of data: it is too large") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "1e30GB"), std::string("\"1e30GB\" is no volume of data: it is too large") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "0.3B"), std::string("\"0.3B\" is no volume of data: it is less than a byte") + kVolumes);
  EXPECT_EQ(refusal(parse_bytes, "nanB"), std::string("\"nanB\" is no volume of data: it does not begin with a number") + kVolumes);
}

TEST(ParseSeconds, GivesTheNearestDouble) {
  EXPECT_EQ(parse_seconds("15us"), Seconds{15e-6});
  EXPECT_EQ(parse_seconds("2ms"), Seconds{2e-3});
  EXPECT_EQ(parse_seconds("120 ns"), Seconds{120e-9});
  EXPECT_EQ(parse_seconds("60s"), Seconds{60});
  EXPECT_EQ(parse_seconds("1.5min"), Seconds{90});
  EXPECT_EQ(parse_seconds("2h"), Seconds{7200});
  EXPECT_EQ(parse_seconds("1e-3s"), Seconds{1e-3});
}

TEST(ParseSeconds, RefusesWhatIsNoTime) {
  EXPECT_EQ(refusal(parse_seconds, "60"), std::string("\"60\" is no time: a bare number has no unit") + kTimes);
  EXPECT_EQ(refusal(parse_seconds, "3 sec"), std::string("\"3 sec\" is no time: the unit \"sec\" is unknown") + kTimes);
  EXPECT_EQ(refusal(parse_seconds, "inf s"), std::string("\"inf s\" is no time: it does not begin with a number") + kTimes);
  EXPECT_EQ(refusal(parse_seconds, "1e999s"), std::string("\"1e999s\" is no time: its number is out of range") + kTimes);
}

TEST(ParseRate, NeverConfusesBitsAndBytes) {
  EXPECT_EQ(parse_rate("25Gbit/s"), gbit_per_s(25));
  EXPECT_EQ(parse_rate("25 Gbit/s"), gbit_per_s(25));
  EXPECT_EQ(parse_rate("100Mbit/s"), BytesPerSecond{12.5e6});
  EXPECT_EQ(parse_rate("12.5GB/s"), BytesPerSecond{12.5e9});
  EXPECT_EQ(parse_rate("1GiB/s"), BytesPerSecond{1'073'741'824.0});
  EXPECT_EQ(refusal(parse_rate, "25gb"), std::string("\"25gb\" is no data rate: the unit \"gb\" is unknown") + kRates);
  EXPECT_EQ(refusal(parse_rate, "25GBit/s"), std::string("\"25GBit/s\" is no data rate: the unit \"GBit/s\" is unknown") + kRates);
  EXPECT_EQ(refusal(parse_rate, "25Gb/s"), std::string("\"25Gb/s\" is no data rate: the unit \"Gb/s\" is unknown") + kRates);
  EXPECT_EQ(refusal(parse_rate, "25"), std::string("\"25\" is no data rate: a bare number has no unit") + kRates);
}

TEST(ParseRate, ReadsDotsInACommaLocale) {
  // Where no such locale is installed the line is the same claim in "C".
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  EXPECT_EQ(parse_rate("25.5Gbit/s"), gbit_per_s(25.5));
  EXPECT_EQ(to_text(Seconds{0.0005}), "0.5ms");
  EXPECT_EQ(for_people(Bytes{1'230'000'000}), "1.23 GB");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(ToText, IsShort) {
  EXPECT_EQ(to_text(Bytes{262'144}), "256KiB");
  EXPECT_EQ(to_text(Bytes{1'000'000}), "1MB");
  EXPECT_EQ(to_text(Bytes{1001}), "1001B");
  EXPECT_EQ(to_text(Bytes{0}), "0B");
  EXPECT_EQ(to_text(Seconds{15e-6}), "15us");
  EXPECT_EQ(to_text(Seconds{1}), "1s");
  EXPECT_EQ(to_text(Seconds{0}), "0s");
  EXPECT_EQ(to_text(gbit_per_s(25)), "25Gbit/s");
}

TEST(ToText, ParsesBackToTheSameBits) {
  const Philox random(7, Draw::Test);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Bytes volume{static_cast<std::int64_t>(random.bits(i) >> (1 + i % 60))};
    EXPECT_EQ(parse_bytes(to_text(volume)), volume);
    const double value = std::pow(10.0, 24 * random.uniform(i) - 12);
    EXPECT_EQ(parse_seconds(to_text(Seconds{value})), Seconds{value}) << to_text(Seconds{value});
    EXPECT_EQ(parse_rate(to_text(BytesPerSecond{value})), BytesPerSecond{value}) << to_text(BytesPerSecond{value});
  }
}

TEST(ForPeople, ShowsThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(for_people(Bytes{0}), "0 B");
  EXPECT_EQ(for_people(Bytes{999}), "999 B");
  EXPECT_EQ(for_people(Bytes{1234}), "1.23 KB");
  EXPECT_EQ(for_people(Bytes{12'345'678}), "12.3 MB");
  EXPECT_EQ(for_people(Bytes{123'456'789'012}), "123 GB");
  EXPECT_EQ(for_people(Seconds{15.2e-6}), "15.2 us");
  EXPECT_EQ(for_people(Seconds{0.25}), "250 ms");
  EXPECT_EQ(for_people(Seconds{60}), "60.0 s");
  EXPECT_EQ(for_people(Seconds{150}), "2.50 min");
  EXPECT_EQ(for_people(Seconds{9000}), "2.50 h");
  EXPECT_EQ(for_people(Seconds{0}), "0 s");
  EXPECT_EQ(for_people(gbit_per_s(25)), "25.0 Gbit/s");
  EXPECT_EQ(for_people(FlopsPerSecond{1.5e12}), "1.50 TFLOP/s");
  EXPECT_EQ(for_people(FlopsPerSecond{312e12}), "312 TFLOP/s");
}

TEST(ForPeople, RoundsIntoTheNextUnit) {
  EXPECT_EQ(for_people(Bytes{999'900'000}), "1.00 GB");
  EXPECT_EQ(for_people(Bytes{999'400'000}), "999 MB");
  EXPECT_EQ(for_people(Seconds{9.996e-3}), "10.0 ms");
  EXPECT_EQ(for_people(Seconds{99.96e-3}), "100 ms");
}

TEST(ParseFlopsRate, ReadsDecimalMultiplesAndRefusesOtherUnits) {
  EXPECT_EQ(parse_flops_rate("312TFLOP/s"), FlopsPerSecond{312e12});
  EXPECT_EQ(parse_flops_rate("1.5 GFLOP/s"), FlopsPerSecond{1.5e9});
  EXPECT_THROW((void)parse_flops_rate("312TFLOPS"), InvalidArgument);
  EXPECT_THROW((void)parse_flops_rate("312"), InvalidArgument);
}

}  // namespace
}  // namespace twinax
