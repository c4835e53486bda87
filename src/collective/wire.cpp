#include "twinax/collective/wire.hpp"

#include <algorithm>
#include <cmath>

#include "collective/codec.hpp"
#include "collective/codec_int8.hpp"

namespace twinax::collective {

Bytes wire_size(std::int64_t values, Dtype wire) {
  if (wire == Dtype::Int8) return {static_cast<std::int64_t>(Int8Blocks::bytes(static_cast<std::size_t>(values)))};
  return size_of(wire) * values;
}

ErrorFeedback::ErrorFeedback(std::int64_t values, int pieces)
    : missing_(static_cast<std::size_t>(values)),
      piece_(std::max<std::size_t>(static_cast<std::size_t>((values + pieces - 1) / pieces), 1)) {}

void ErrorFeedback::apply(std::span<float> contribution, Dtype wire) {
  for (std::size_t begin = 0; begin < contribution.size(); begin += piece_) {
    const std::span<float> values = contribution.subspan(begin, std::min(piece_, contribution.size() - begin));
    const std::span<float> missing = std::span(missing_).subspan(begin, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += missing[i];
    encoded_.resize(static_cast<std::size_t>(wire_size(std::ssize(values), wire).value));
    decoded_.resize(values.size());
    encode(values, encoded_, wire);
    decode(encoded_, decoded_, wire);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float lost = values[i] - decoded_[i];
      missing[i] = std::isfinite(lost) ? lost : 0.0F;
    }
  }
}

Bytes ErrorFeedback::bytes() const {
  return size_of(Dtype::Fp32) * std::ssize(missing_);
}

}  // namespace twinax::collective
