#pragma once

#include <cmath>
#include <cstdint>

#include "twinax/tensor/for_each.hpp"

namespace twinax::tensor {

/// exp(x) to about 1 unit in the last place, in a form that compilers turn into vector code; 0 below -87.3, finite above 88; NaN stays NaN.
///
/// Source:     the polynomial of expf in the Cephes library (S. L. Moshier).
TWINAX_HOST_DEVICE inline float exponential(float x) {
  constexpr float kLowest = -87.33654F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  const float clamped_below = x < kLowest ? kLowest : x;
  const float clamped = clamped_below > 88.02F ? 88.02F : clamped_below;
  const float shifted = clamped * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float mantissa = p * (r * r) + r + 1.0F;
  const auto exponent = (__builtin_bit_cast(std::uint32_t, shifted) << 23U) + (127U << 23U);
  const float value = mantissa * __builtin_bit_cast(float, exponent);
  return x < kLowest ? 0.0F : value;
}

/// The library's, for double precision.
TWINAX_HOST_DEVICE inline double exponential(double x) {
  return std::exp(x);
}

}  // namespace twinax::tensor
