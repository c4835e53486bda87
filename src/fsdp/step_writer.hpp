#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "twinax/collective/wire.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/prefetch.hpp"
#include "twinax/step/op.hpp"

#include "fsdp/step_pools.hpp"

namespace twinax::fsdp {

/// Writes a step's ops down in program order. The plan outlives the writer, and the bodies the graph; they may be null.
class StepWriter {
 public:
  StepWriter(const StepPlan& plan, StepBodies* bodies, std::vector<Use> uses, bool keeps_gathered);

  /// All uses; the gathers of a use's group and of the groups that may be gathered ahead are issued before it, or those for backward after
  /// the reduction of the backward before.
  void write_uses();
  /// The sums over ranks and the optimizer.
  void write_update();
  /// The sum of loss and tokens over the ranks, after all that was written before.
  step::OpId write_total();
  /// What was written.
  [[nodiscard]] BuiltStep take();

 private:
  /// Parameters gathered for a group of uses.
  struct Gathered {
    std::optional<step::BufferId> buffer;  // none where parameters are resident
    step::OpId by;
  };
  /// One unit's gradients while the graph is being written down.
  struct UnitState {
    std::optional<step::BufferId> gradients;  // produced and not yet reduced
    std::int64_t backwards_left = 0;          // in the whole step
    bool touched = false;                     // its gradients have been cleared in this step
    bool reduced = false;
  };

  step::OpId add(step::Op op, OpStage stage);
  /// What was gathered for the use; the root's comes first. Groups, not units: a unit may be gathered again before it has been released.
  [[nodiscard]] Gathered& gathered_for(const Use& use) { return groups_[use.unit == 0 ? 0 : static_cast<std::size_t>(use.group) + 1]; }
  [[nodiscard]] UnitState& unit_of(const Use& use) { return units_[static_cast<std::size_t>(use.unit)]; }
  [[nodiscard]] const ShardLayout& layout_of(const Use& use) const { return plan_.layouts[static_cast<std::size_t>(use.unit)]; }
  [[nodiscard]] const std::string& name_of(const Use& use) const { return plan_.unit_names[static_cast<std::size_t>(use.unit)]; }
  /// What this rank receives in a gather or a reduction of the unit over its shards.
  [[nodiscard]] Bytes received(const Use& use, Dtype wire) const {
    return collective::wire_size(layout_of(use).shard, wire) * (plan_.shards() - 1);
  }
  /// A unit's whole run of parameters or gradients in memory.
  step::BufferId add_buffer(const Use& use, const char* what, std::optional<step::SlotId> slot);

  /// The gathers, not yet written, of uses up to a group and of those that may be gathered ahead of it, for backward only if it is
  /// `backward_too`; the root's always.
  void write_gathers(int group, bool backward_too);
  void write_gather(const Use& use);
  /// What uses have in common: the parameters, and their release after the last use.
  step::Op make_use(const Use& use, step::OpKind kind, const char* what, Flops flops);
  void write_forward(const Use& use);
  /// Unless what the last forward of a block has left behind is still there.
  void write_recompute(const Use& use);
  void write_backward(const Use& use);
  /// What is to be summed over ranks after a backward of the unit.
  void write_reductions(const Use& use, step::OpId after);
  step::OpId write_reduce(const Use& use, step::OpId after);
  void write_reduce_replicas(const Use& use, step::OpId after);

  const StepPlan& plan_;
  StepBodies* bodies_;
  std::vector<Use> uses_;
  std::size_t next_gather_ = 0;              // gathers of uses before this one are written
  std::optional<std::size_t> last_forward_;  // the block's stage that was run forward last
  std::vector<Gathered> groups_;
  std::vector<UnitState> units_;
  std::vector<step::OpId> reductions_;
  BuiltStep built_;
  StepPools pools_;
};

}  // namespace twinax::fsdp
