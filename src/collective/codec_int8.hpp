#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace twinax::collective {

/// Block-scaled int8: values in blocks of 64 (the last may be shorter), of which each has one fp32 scale, its largest magnitude / 127, and
/// for each value the nearest whole multiple of it. The scales of a piece come first. A block with a value that is not finite is NaN.
struct Int8Blocks {
  static constexpr std::size_t kBlock = 64;
  /// The number of blocks.
  [[nodiscard]] static constexpr std::size_t count(std::size_t values) { return (values + kBlock - 1) / kBlock; }
  /// The bytes of a piece.
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t values) { return count(values) * sizeof(float) + values; }
  /// Writes a piece. bytes [bytes(values.size())].
  static void encode(std::span<const float> values, std::span<std::byte> bytes);
  /// Reads it back, or adds it.
  static void decode(std::span<const std::byte> bytes, std::span<float> values);
  static void add(std::span<const std::byte> bytes, std::span<float> values);
};

}  // namespace twinax::collective
