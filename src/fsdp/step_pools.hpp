#pragma once

#include <optional>
#include <span>
#include <vector>

#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/limiter.hpp"
#include "twinax/fsdp/prefetch.hpp"
#include "twinax/step/op.hpp"

namespace twinax::fsdp {

/// The limiter of a step that is being written down: which ops take credits, which give them back, and whose memory their buffers have.
/// The root is outside its pools.
class StepPools {
 public:
  /// Adds the plan's pools and slots to the graph; none where parameters are resident. What is kept through the step is counted, not
  /// limited. Throws InvalidArgument if the limiter can't hold a unit.
  StepPools(const StepPlan& plan, std::span<const Use> uses, bool keeps_gathered, BuiltStep& built);
  /// Whether the gather of group `next` may be issued before the uses of group `now`.
  [[nodiscard]] bool is_gathered_ahead(int now, int next) const;
  /// For a gather.
  void take_gathered(step::Op& op) const;
  /// For the last op that uses what was gathered.
  void give_gathered(step::Op& op) const;
  /// For the op that makes a unit's buffer of gradients.
  void take_reduction(step::Op& op) const;
  /// For the op after which that buffer is no longer needed.
  void give_reduction(step::Op& op) const;
  /// Of the next buffer that the unit is gathered into, or has gradients in; none: memory of its own.
  [[nodiscard]] std::optional<step::SlotId> next_gathered_slot(int unit) { return gathered_->next_slot(unit); }
  [[nodiscard]] std::optional<step::SlotId> next_gradients_slot(int unit) { return reductions_->next_slot(unit); }

 private:
  const StepPlan& plan_;
  bool keeps_gathered_;
  std::vector<int> group_units_;
  std::optional<LimitedBuffers> gathered_, reductions_;  // none where parameters are resident
};

}  // namespace twinax::fsdp
