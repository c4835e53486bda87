#include "twinax/fsdp/sharded_adamw.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "twinax/tensor/kernels.hpp"

namespace twinax::fsdp {

double learning_rate_at(const AdamwOptions& options, std::int64_t step) {
  if (step < options.warmup_steps) return options.learning_rate * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps);
  const double span = static_cast<double>(std::max<std::int64_t>(options.steps - options.warmup_steps, 1));
  const double done = std::min(static_cast<double>(step + 1 - options.warmup_steps) / span, 1.0);
  const double share = options.final_learning_rate_share;
  return options.learning_rate * (share + (1 - share) * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

double clip_factor(const AdamwOptions& options, double norm) {
  return options.clip_norm > 0 && norm > options.clip_norm ? options.clip_norm / norm : 1.0;
}

void update(FlatParameter& parameter, const AdamwOptions& options, double learning_rate, double gradient_factor, std::int64_t update) {
  const tensor::AdamW settings{.learning_rate = learning_rate,
                               .beta1 = options.beta1,
                               .beta2 = options.beta2,
                               .epsilon = options.epsilon,
                               .weight_decay = options.weight_decay,
                               .gradient_scale = gradient_factor,
                               .step = update};
  const std::span<const float> gradient = parameter.gradient();
  tensor::adamw_update<float>(settings, parameter.decays(), gradient, parameter.master(), parameter.first_moment(),
                              parameter.second_moment());
}

}  // namespace twinax::fsdp
