#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/base/units.hpp"

namespace twinax::collective {

/// What a piece of that many values takes on the wire.
[[nodiscard]] Bytes wire_size(std::int64_t values, Dtype wire);

/// The element type in which an all-reduce sends sums to all: nobody could make up for what rounding a sum to int8 loses.
[[nodiscard]] constexpr Dtype sum_wire(Dtype wire) {
  return wire == Dtype::Int8 ? Dtype::Bf16 : wire;
}

/// What rounding to the wire's type has lost of one rank's contributions to a sum that is made again and again, and is added to the next:
/// so the errors of all rounds together stay as small as that of one.
///
/// Source: Seide et al., 1-bit stochastic gradient descent, Interspeech 2014; Karimireddy et al., Error feedback fixes SignSGD, ICML 2019.
class ErrorFeedback {
 public:
  /// For contributions of that many values, which travel in `pieces` (to be padded to equal ones). `memory` outlives it.
  ErrorFeedback(std::int64_t values, int pieces, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  /// Adds what is still missing to a contribution, and keeps what sending it in the wire's type will lose. What is not finite is lost.
  void apply(std::span<float> contribution, Dtype wire);
  /// What is missing now.
  [[nodiscard]] std::span<const float> missing() const { return missing_; }
  /// The memory held.
  [[nodiscard]] Bytes bytes() const;

 private:
  std::pmr::vector<float> missing_;
  std::size_t piece_;
};

}  // namespace twinax::collective
