#pragma once

#include <memory_resource>
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

/// How computing is measured.
struct MeasureOptions {
  int shards = 1;   ///< of each unit, of which the optimizer runs on one
  int repeats = 1;  ///< of which the medians count
  /// Where parameters and gradients lie: at a time no more than whole parameters of the root and the largest other unit, and whole
  /// gradients of the largest; or four times a shard.
  std::pmr::memory_resource* memory = std::pmr::get_default_resource();
};

/// Runs every stage forward and backward, and the optimizer on one shard, on the calling thread without any communication. The model is
/// left ready for its first real batch. Throws whatever `options.memory` throws when it has no more.
[[nodiscard]] ComputeTimes measure_compute(nn::Model<float>& model, const nn::TokenBatch& batch, const MeasureOptions& options,
                                           Clock& clock);

}  // namespace twinax::fsdp
