#pragma once

#include <bit>
#include <cstdint>

#include "twinax/base/units.hpp"

namespace twinax {

/// An element type of buffers and of the wire; Int8 of the wire alone, where values share scales in blocks.
enum class Dtype : std::uint8_t { Fp32, Bf16, Int8 };

/// The size of one element; of Int8 without its share of a scale.
constexpr Bytes size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::Fp32:
      return {4};
    case Dtype::Bf16:
      return {2};
    case Dtype::Int8:
      break;
  }
  return {1};
}

/// Rounds to the nearest bf16, ties to even; NaN stays NaN.
constexpr std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// Widens a bf16; exact.
constexpr float from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace twinax
