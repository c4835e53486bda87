#include "twinax/collective/wire.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "collective/codec.hpp"
#include "collective/codec_int8.hpp"

namespace twinax::collective {
namespace {

/// Adds what is missing to values that are encoded at once, and keeps what that loses of them.
void feed_back(std::span<float> values, std::span<float> missing, Dtype wire) {
  constexpr std::size_t kMost = 16 * Int8Blocks::kBlock;
  std::array<std::byte, kMost * sizeof(float)> bytes;
  std::array<float, kMost> back;
  // In whole blocks, so that each is encoded as in its piece.
  for (std::size_t begin = 0; begin < values.size(); begin += kMost) {
    const std::span<float> mine = values.subspan(begin, std::min(kMost, values.size() - begin));
    const std::span<float> lacks = missing.subspan(begin, mine.size());
    const std::span<std::byte> encoded = std::span(bytes).first(static_cast<std::size_t>(wire_size(std::ssize(mine), wire).value));
    const std::span<float> decoded = std::span(back).first(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += lacks[i];
    encode(mine, encoded, wire);
    decode(encoded, decoded, wire);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const float lost = mine[i] - decoded[i];
      lacks[i] = std::isfinite(lost) ? lost : 0.0F;
    }
  }
}

}  // namespace

Bytes wire_size(std::int64_t values, Dtype wire) {
  if (wire == Dtype::Int8) return {static_cast<std::int64_t>(Int8Blocks::bytes(static_cast<std::size_t>(values)))};
  return size_of(wire) * values;
}

ErrorFeedback::ErrorFeedback(std::int64_t values, int pieces, std::pmr::memory_resource* memory)
    : missing_(static_cast<std::size_t>(values), memory),
      piece_(std::max<std::size_t>(static_cast<std::size_t>((values + pieces - 1) / pieces), 1)) {}

void ErrorFeedback::apply(std::span<float> contribution, Dtype wire) {
  for (std::size_t begin = 0; begin < contribution.size(); begin += piece_) {
    const std::span<float> piece = contribution.subspan(begin, std::min(piece_, contribution.size() - begin));
    feed_back(piece, std::span(missing_).subspan(begin, piece.size()), wire);
  }
}

Bytes ErrorFeedback::bytes() const {
  return size_of(Dtype::Fp32) * std::ssize(missing_);
}

}  // namespace twinax::collective
