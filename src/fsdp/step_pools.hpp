#pragma once

#include <cstdint>

#include "twinax/fsdp/build_step.hpp"
#include "twinax/step/op.hpp"

namespace twinax::fsdp {

/// The limiter of a step that is being written down: which ops take credits, and which give them back. The root is outside its pools.
class StepPools {
 public:
  /// Adds the plan's pools to the graph; none where parameters are resident. What is kept through the step is counted, not limited.
  StepPools(const StepPlan& plan, bool keeps_gathered, BuiltStep& built);
  /// How many gathers may be issued ahead of the unit in use.
  [[nodiscard]] std::int64_t gathers_ahead() const { return gathers_ahead_; }
  /// For a gather.
  void take_gathered(step::Op& op) const;
  /// For the last op that uses what was gathered.
  void give_gathered(step::Op& op) const;
  /// For the op that makes a unit's buffer of gradients.
  void take_reduction(step::Op& op) const;
  /// For the op after which that buffer is no longer needed.
  void give_reduction(step::Op& op) const;

 private:
  step::PoolId gathered_, reductions_;
  std::int64_t gathers_ahead_;
};

}  // namespace twinax::fsdp
