#include "twinax/base/units_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>

#include "twinax/base/error.hpp"

#include "fmt/format.h"

namespace twinax {
namespace {

/// One unit: `number unit` is number * times / over, both exact, so that "15us" is the double nearest to 15e-6.
struct Unit {
  std::string_view name;
  double times;
  double over;
};

constexpr double kKi = 1024.0;

constexpr std::array kByteUnits{
    Unit{"B", 1, 1},    Unit{"KiB", kKi, 1}, Unit{"MiB", kKi* kKi, 1}, Unit{"GiB", kKi* kKi* kKi, 1}, Unit{"TiB", kKi* kKi* kKi* kKi, 1},
    Unit{"KB", 1e3, 1}, Unit{"MB", 1e6, 1},  Unit{"GB", 1e9, 1},       Unit{"TB", 1e12, 1},
};
constexpr std::array kTimeUnits{
    Unit{"s", 1, 1}, Unit{"ms", 1, 1e3}, Unit{"us", 1, 1e6}, Unit{"ns", 1, 1e9}, Unit{"min", 60, 1}, Unit{"h", 3600, 1},
};
constexpr std::array kRateUnits{
    Unit{"bit/s", 1, 8},
    Unit{"kbit/s", 1e3, 8},
    Unit{"Mbit/s", 1e6, 8},
    Unit{"Gbit/s", 1e9, 8},
    Unit{"Tbit/s", 1e12, 8},
    Unit{"B/s", 1, 1},
    Unit{"KB/s", 1e3, 1},
    Unit{"MB/s", 1e6, 1},
    Unit{"GB/s", 1e9, 1},
    Unit{"TB/s", 1e12, 1},
    Unit{"KiB/s", kKi, 1},
    Unit{"MiB/s", kKi* kKi, 1},
    Unit{"GiB/s", kKi* kKi* kKi, 1},
    Unit{"TiB/s", kKi* kKi* kKi* kKi, 1},
};

constexpr std::array kWorkRateUnits{
    Unit{"FLOP/s", 1, 1}, Unit{"MFLOP/s", 1e6, 1}, Unit{"GFLOP/s", 1e9, 1}, Unit{"TFLOP/s", 1e12, 1}, Unit{"PFLOP/s", 1e15, 1},
};

/// What a kind of quantity is called in messages, and how one is written.
struct Kind {
  std::string_view name;
  std::string_view example;
  std::span<const Unit> units;
};

constexpr Kind kVolume{"volume of data", "512MiB", kByteUnits};
constexpr Kind kTime{"time", "15us", kTimeUnits};
constexpr Kind kRate{"data rate", "25Gbit/s", kRateUnits};
constexpr Kind kWorkRate{"rate of computing", "312TFLOP/s", kWorkRateUnits};

[[noreturn]] void refuse(std::string_view text, const Kind& kind, std::string_view why) {
  std::string names;
  for (const Unit& unit : kind.units) names.append(names.empty() ? "" : " ").append(unit.name);
  throw InvalidArgument(fmt::format("\"{}\" is no {}: {}; units are {}, e.g. \"{}\"", text, kind.name, why, names, kind.example));
}

/// A number and its unit, as they stand in the text.
struct Parts {
  std::string_view number;
  double value = 0;
  Unit unit{};
};

Parts take_apart(std::string_view text, const Kind& kind) {
  std::string_view rest = text;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  if (rest.empty()) refuse(text, kind, "it is empty");
  if (rest.front() == '-') refuse(text, kind, "it is negative");
  if (rest.front() != '.' && (rest.front() < '0' || rest.front() > '9')) refuse(text, kind, "it does not begin with a number");

  Parts parts;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), parts.value);
  if (code == std::errc::result_out_of_range) refuse(text, kind, "its number is out of range");
  if (code != std::errc{}) refuse(text, kind, "it does not begin with a number");
  parts.number = rest.substr(0, static_cast<std::size_t>(end - rest.data()));
  std::string_view name = rest.substr(parts.number.size());
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  if (name.empty()) refuse(text, kind, "a bare number has no unit");
  const auto unit = std::find_if(kind.units.begin(), kind.units.end(), [name](const Unit& one) { return one.name == name; });
  if (unit == kind.units.end()) refuse(text, kind, fmt::format("the unit \"{}\" is unknown", name));
  parts.unit = *unit;
  return parts;
}

double parse_number(std::string_view text, const Kind& kind) {
  const Parts parts = take_apart(text, kind);
  const double value = parts.value * parts.unit.times / parts.unit.over;
  if (!std::isfinite(value)) refuse(text, kind, "it is too large");
  return value;
}

/// The shortest "number unit" whose value, as parsed, is exactly `value`; the first of equals.
std::string shortest(double value, const Kind& kind) {
  std::string best;
  for (const Unit& unit : kind.units) {
    std::string text = fmt::format("{}{}", value * unit.over / unit.times, unit.name);
    if ((best.empty() || text.size() < best.size()) && value >= 0 && std::isfinite(value) && parse_number(text, kind) == value) best = text;
  }
  return best.empty() ? fmt::format("{}{}", value * kind.units[0].over / kind.units[0].times, kind.units[0].name) : best;
}

/// Three significant digits of `value` in the largest of `units` (ascending) that leaves at least 1 before the point.
std::string three_digits(double value, std::span<const Unit> units) {
  const auto scaled = [value](const Unit& unit) { return value * unit.over / unit.times; };
  const auto digits = [](double x) { return std::abs(x) < 9.995 ? 2 : std::abs(x) < 99.95 ? 1 : 0; };
  std::size_t chosen = 0;
  // A value that would round up to the next unit's 1 belongs there: 999.9 MB is 1.00 GB.
  while (chosen + 1 < units.size() && std::abs(scaled(units[chosen + 1])) >= 0.9995) ++chosen;
  const double x = scaled(units[chosen]);
  return fmt::format("{:.{}f} {}", x, x == 0 ? 0 : digits(x), units[chosen].name);
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  const Parts parts = take_apart(text, kVolume);
  std::int64_t whole = 0;
  const auto [end, code] = std::from_chars(parts.number.data(), parts.number.data() + parts.number.size(), whole);
  if (code == std::errc{} && end == parts.number.data() + parts.number.size()) {  // exact, also above 2^53
    std::int64_t product = 0;
    if (__builtin_mul_overflow(whole, static_cast<std::int64_t>(parts.unit.times), &product)) refuse(text, kVolume, "it is too large");
    return {product};
  }
  const double value = std::round(parts.value * parts.unit.times);
  if (value >= 0x1p63) refuse(text, kVolume, "it is too large");
  if (value == 0 && parts.value != 0) refuse(text, kVolume, "it is less than a byte");
  return {static_cast<std::int64_t>(value)};
}

Seconds parse_seconds(std::string_view text) {
  return {parse_number(text, kTime)};
}

BytesPerSecond parse_rate(std::string_view text) {
  return {parse_number(text, kRate)};
}

FlopsPerSecond parse_flops_rate(std::string_view text) {
  return {parse_number(text, kWorkRate)};
}

std::string to_text(Bytes volume) {
  std::string best = fmt::format("{}B", volume.value);
  for (const Unit& unit : kByteUnits) {
    const auto times = static_cast<std::int64_t>(unit.times);
    if (volume.value == 0 || volume.value % times != 0) continue;
    std::string text = fmt::format("{}{}", volume.value / times, unit.name);
    if (text.size() < best.size()) best = std::move(text);
  }
  return best;
}

std::string to_text(Seconds time) {
  return shortest(time.value, kTime);
}

std::string to_text(BytesPerSecond rate) {
  return shortest(rate.value, kRate);
}

std::string for_people(Bytes volume) {
  if (std::abs(static_cast<double>(volume.value)) < 1000) return fmt::format("{} B", volume.value);
  constexpr std::array kUnits{Unit{"B", 1, 1},    Unit{"KB", 1e3, 1},  Unit{"MB", 1e6, 1},
                              Unit{"GB", 1e9, 1}, Unit{"TB", 1e12, 1}, Unit{"PB", 1e15, 1}};
  return three_digits(static_cast<double>(volume.value), kUnits);
}

std::string for_people(Seconds time) {
  constexpr std::array kSmall{Unit{"ns", 1, 1e9}, Unit{"us", 1, 1e6}, Unit{"ms", 1, 1e3}, Unit{"s", 1, 1}};
  constexpr std::array kMinutes{Unit{"min", 60, 1}};
  constexpr std::array kHours{Unit{"h", 3600, 1}};
  if (std::abs(time.value) >= 7200) return three_digits(time.value, kHours);
  if (std::abs(time.value) >= 120) return three_digits(time.value, kMinutes);
  return time.value == 0 ? "0 s" : three_digits(time.value, kSmall);
}

std::string for_people(BytesPerSecond rate) {
  constexpr std::array kUnits{Unit{"bit/s", 1, 8}, Unit{"kbit/s", 1e3, 8}, Unit{"Mbit/s", 1e6, 8}, Unit{"Gbit/s", 1e9, 8},
                              Unit{"Tbit/s", 1e12, 8}};
  return three_digits(rate.value, kUnits);
}

std::string for_people(FlopsPerSecond rate) {
  constexpr std::array kUnits{Unit{"FLOP/s", 1, 1},     Unit{"KFLOP/s", 1e3, 1},  Unit{"MFLOP/s", 1e6, 1}, Unit{"GFLOP/s", 1e9, 1},
                              Unit{"TFLOP/s", 1e12, 1}, Unit{"PFLOP/s", 1e15, 1}, Unit{"EFLOP/s", 1e18, 1}};
  return three_digits(rate.value, kUnits);
}

}  // namespace twinax
