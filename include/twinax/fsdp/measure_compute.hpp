#pragma once

#include <span>
#include <vector>

#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/model.hpp"

namespace twinax::fsdp {

/// How long this rank computes, one stage or unit at a time and without communication.
struct ComputeTimes {
  std::vector<Seconds> forward, backward;  ///< by stage, of one micro-batch
  std::vector<Seconds> optimize;           ///< by unit
  Seconds norm{0};
  Flops flops{0};  ///< of the forward and backward stages together
  /// All stages together: what one micro-batch computes.
  [[nodiscard]] Seconds stages() const;
};

/// Runs every stage forward and backward, and the optimizer on one of `shards` shards, `repeats` times on the calling thread without any
/// communication, and returns the medians. The model is left ready for its first real batch.
[[nodiscard]] ComputeTimes measure_compute(nn::Model<float>& model, const nn::TokenBatch& batch, int shards, int repeats, Clock& clock);

}  // namespace twinax::fsdp
