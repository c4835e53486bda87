#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace twinax::test {

/// The bf16 nearest to `value`, found by comparing distances to its two neighbours; of two equally near the even one. The slow twin of
/// to_bf16.
inline std::uint16_t nearest_bf16(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7fc0);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7f80);
  const auto real = [](std::uint32_t bits) {  // what would follow the largest finite number stands for infinity
    return bits == 0x7f80 ? std::ldexp(1.0, 128) : static_cast<double>(std::bit_cast<float>(bits << 16));
  };
  const double size = std::fabs(static_cast<double>(value));
  std::uint32_t below = 0;
  std::uint32_t above = 0x7f80;
  while (above - below > 1) {
    const std::uint32_t middle = (below + above) / 2;
    (real(middle) <= size ? below : above) = middle;
  }
  const double down = size - real(below);
  const double up = real(above) - size;
  const bool goes_up = up < down || (up == down && below % 2 == 1);
  return static_cast<std::uint16_t>(sign | (goes_up ? above : below));
}

/// The value of `value` after a way through bf16.
inline float through_bf16(float value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(nearest_bf16(value)) << 16);
}

/// The distance between bf16 numbers around `value`, a normal number.
inline double bf16_step(double value) {
  return std::ldexp(1.0, std::ilogb(value) - 7);
}

}  // namespace twinax::test
