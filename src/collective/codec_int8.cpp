#include "collective/codec_int8.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace twinax::collective {
namespace {

constexpr float kSteps = 127;

/// The scale of a block: 0 where all is 0 or too small to be divided by, NaN where something is not finite.
float scale_of(std::span<const float> block) {
  float largest = 0;
  bool is_finite = true;
  for (const float value : block) {
    const float magnitude = std::fabs(value);
    is_finite = is_finite && magnitude <= std::numeric_limits<float>::max();
    largest = std::max(largest, magnitude);
  }
  if (!is_finite) return std::numeric_limits<float>::quiet_NaN();
  const float scale = largest / kSteps;
  if (scale < std::numeric_limits<float>::min()) return 0;
  // Near the largest number there is, 127 steps must not be infinite.
  return scale * kSteps <= std::numeric_limits<float>::max() ? scale : std::nextafter(scale, 0.0F);
}

/// Calls `each(value index, scale, step)` for all values of a piece.
template <class Each>
void for_each(std::span<const std::byte> bytes, std::size_t values, const Each& each) {
  const std::byte* const steps = bytes.data() + Int8Blocks::count(values) * sizeof(float);
  for (std::size_t begin = 0; begin < values; begin += Int8Blocks::kBlock) {
    float scale = 0;
    std::memcpy(&scale, bytes.data() + begin / Int8Blocks::kBlock * sizeof(float), sizeof(float));
    const std::size_t end = std::min(begin + Int8Blocks::kBlock, values);
    for (std::size_t i = begin; i < end; ++i) each(i, scale * static_cast<float>(static_cast<std::int8_t>(steps[i])));
  }
}

}  // namespace

void Int8Blocks::encode(std::span<const float> values, std::span<std::byte> bytes) {
  std::byte* const steps = bytes.data() + count(values.size()) * sizeof(float);
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const float> block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    const float scale = scale_of(block);
    std::memcpy(bytes.data() + begin / kBlock * sizeof(float), &scale, sizeof(float));
    const bool has_steps = scale > 0;  // neither 0 nor NaN
    for (std::size_t i = 0; i < block.size(); ++i) {
      const float step = has_steps ? std::nearbyint(block[i] / scale) : 0;
      steps[begin + i] = static_cast<std::byte>(static_cast<std::int8_t>(step));
    }
  }
}

void Int8Blocks::decode(std::span<const std::byte> bytes, std::span<float> values) {
  for_each(bytes, values.size(), [&](std::size_t i, float value) { values[i] = value; });
}

void Int8Blocks::add(std::span<const std::byte> bytes, std::span<float> values) {
  for_each(bytes, values.size(), [&](std::size_t i, float value) { values[i] += value; });
}

}  // namespace twinax::collective
