#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "twinax/base/philox.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/step/cost.hpp"

namespace twinax::fsdp::drawn {

/// Numbers in a row from one seed.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : random_(seed, Draw::Test) {}
  /// Uniform in [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(random_.bits(next_++) % static_cast<std::uint64_t>(last - first + 1));
  }

 private:
  Philox random_;
  std::uint64_t next_ = 0;
};

/// A plan of 1 to 8 units (the root and up to 7 blocks, some of two stages) of random sizes.
inline StepPlan random_plan(Numbers& numbers) {
  StepPlan plan;
  plan.ranks = static_cast<int>(numbers.between(1, 4));
  plan.limit = numbers.between(1, 4);
  plan.prefetch = numbers.between(0, 3);
  plan.micro_batches = numbers.between(1, 3);
  plan.backward_prefetch = numbers.between(0, 1) == 0 ? BackwardPrefetch::Pre : BackwardPrefetch::Post;
  plan.checkpoint = numbers.between(0, 1) == 0;
  plan.wire = numbers.between(0, 1) == 0 ? Dtype::Fp32 : Dtype::Bf16;
  const std::int64_t units = numbers.between(1, 8);
  for (std::int64_t u = 0; u < units; ++u) {
    plan.unit_names.push_back(u == 0 ? "root" : "h." + std::to_string(u - 1));
    plan.layouts.push_back(shard_layout(numbers.between(1, 100'000), plan.ranks));
  }
  plan.stages = {{.name = "embed", .unit = 0}};
  for (int u = 1; u < static_cast<int>(units); ++u) {
    for (std::int64_t stages = numbers.between(1, 2); stages > 0; --stages) {
      plan.stages.push_back({.name = plan.unit_names[static_cast<std::size_t>(u)], .unit = u});
    }
  }
  plan.stages.push_back({.name = "head", .unit = 0});
  plan.forward_flops.assign(plan.stages.size(), Flops{1});
  plan.backward_flops.assign(plan.stages.size(), Flops{2});
  return plan;
}

inline std::string text_of(const StepPlan& plan) {
  return std::to_string(plan.unit_names.size()) + " units, " + std::to_string(plan.ranks) + " ranks, limit " + std::to_string(plan.limit) +
         ", prefetch " + std::to_string(plan.prefetch) + ", " + std::to_string(plan.micro_batches) + " micro-batches";
}

/// Every op takes a time drawn from its index; one in four none.
class DrawnCost final : public step::Cost {
 public:
  explicit DrawnCost(std::uint64_t seed) : random_(seed, Draw::Test) {}
  [[nodiscard]] Seconds seconds(const step::StepGraph& /*graph*/, step::OpId op) const override {
    return {std::max(0.0, random_.uniform(op.index) - 0.25)};
  }

 private:
  Philox random_;
};

}  // namespace twinax::fsdp::drawn
