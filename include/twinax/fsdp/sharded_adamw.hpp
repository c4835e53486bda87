#pragma once

#include <cstdint>

#include "twinax/fsdp/flat_parameter.hpp"

namespace twinax::fsdp {

/// AdamW and its schedule.
///
/// Source: Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019.
struct AdamwOptions {
  double learning_rate = 1e-3;             ///< at the end of the warm-up
  double final_learning_rate_share = 0.1;  ///< of learning_rate, at the last step
  std::int64_t warmup_steps = 0;
  std::int64_t steps = 1;  ///< of the whole run
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  ///< on matrices and embeddings only
  double clip_norm = 1.0;     ///< of the global gradient norm; 0 = no clipping
};

/// The learning rate of a step (counted from 0): linear warm-up from learning_rate / warmup_steps, then a half cosine down to the final
/// share.
[[nodiscard]] double learning_rate_at(const AdamwOptions& options, std::int64_t step);

/// What the gradients are multiplied by, given their global norm.
[[nodiscard]] double clip_factor(const AdamwOptions& options, double norm);

/// Applies one update to a shard from its gradient. `update` counts updates from 1, for the bias correction.
void update(FlatParameter& parameter, const AdamwOptions& options, double learning_rate, double gradient_factor, std::int64_t update);

}  // namespace twinax::fsdp
