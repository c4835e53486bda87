#pragma once

#include <compare>
#include <cstdint>

namespace twinax {

/// A volume of data, in bytes.
struct Bytes {
  std::int64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// A span of time, or a moment of a Clock, in seconds.
struct Seconds {
  double value = 0;
  auto operator<=>(const Seconds&) const = default;
};

/// A rate of data, in bytes per second (not bits).
struct BytesPerSecond {
  double value = 0;
  auto operator<=>(const BytesPerSecond&) const = default;
};

/// An amount of floating-point operations; a multiply-add counts as two.
struct Flops {
  double value = 0;
  auto operator<=>(const Flops&) const = default;
};

/// A rate of computing, in floating-point operations per second.
struct FlopsPerSecond {
  double value = 0;
  auto operator<=>(const FlopsPerSecond&) const = default;
};

// Only the operators that make physical sense exist; tests/compile_fail says which do not.
constexpr Bytes operator+(Bytes a, Bytes b) {
  return {a.value + b.value};
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return {a.value - b.value};
}
constexpr Bytes operator*(Bytes a, std::int64_t n) {
  return {a.value * n};
}
constexpr Bytes& operator+=(Bytes& a, Bytes b) {
  a.value += b.value;
  return a;
}
constexpr Bytes& operator-=(Bytes& a, Bytes b) {
  a.value -= b.value;
  return a;
}

constexpr Seconds operator+(Seconds a, Seconds b) {
  return {a.value + b.value};
}
constexpr Seconds operator-(Seconds a, Seconds b) {
  return {a.value - b.value};
}
constexpr Seconds operator*(Seconds a, double factor) {
  return {a.value * factor};
}
constexpr Seconds operator/(Seconds a, double divisor) {
  return {a.value / divisor};
}
constexpr double operator/(Seconds a, Seconds b) {
  return a.value / b.value;
}
constexpr Seconds& operator+=(Seconds& a, Seconds b) {
  a.value += b.value;
  return a;
}

constexpr Flops operator+(Flops a, Flops b) {
  return {a.value + b.value};
}
constexpr Flops operator*(Flops a, double factor) {
  return {a.value * factor};
}
constexpr Flops& operator+=(Flops& a, Flops b) {
  a.value += b.value;
  return a;
}

constexpr BytesPerSecond operator*(BytesPerSecond a, double factor) {
  return {a.value * factor};
}
constexpr BytesPerSecond operator/(BytesPerSecond a, double divisor) {
  return {a.value / divisor};
}
constexpr FlopsPerSecond operator*(FlopsPerSecond a, double factor) {
  return {a.value * factor};
}
constexpr double operator/(FlopsPerSecond a, FlopsPerSecond b) {
  return a.value / b.value;
}
constexpr double operator/(BytesPerSecond a, BytesPerSecond b) {
  return a.value / b.value;
}

constexpr Seconds operator/(Bytes volume, BytesPerSecond rate) {
  return {static_cast<double>(volume.value) / rate.value};
}
constexpr BytesPerSecond operator/(Bytes volume, Seconds time) {
  return {static_cast<double>(volume.value) / time.value};
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return {work.value / rate.value};
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) {
  return {work.value / time.value};
}

/// A network's nominal rate: decimal bits.
constexpr BytesPerSecond gbit_per_s(double rate) {
  return {rate * 1e9 / 8};
}
/// Binary mebibytes.
constexpr Bytes mib(std::int64_t count) {
  return {count * 1024 * 1024};
}

static_assert(Bytes{125'000'000} / gbit_per_s(1) == Seconds{1.0});

}  // namespace twinax
