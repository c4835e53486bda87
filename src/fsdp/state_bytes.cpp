#include "twinax/fsdp/state_bytes.hpp"

#include <string>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"

namespace twinax::fsdp {
namespace {

/// The state if the plan's units were sharded over all ranks.
Bytes fully_sharded(const StepPlan& plan) {
  StepPlan full = plan;
  full.strategy = Strategy::Full;
  for (ShardLayout& layout : full.layouts) layout = shard_layout(layout.elements, full.shards());
  return state_bytes(full).total();
}

}  // namespace

std::int64_t residual_values(const StepPlan& plan, std::size_t unit) {
  // One level of a sum is compressed: over the replicas if there are any, else over the shards.
  const bool has_replicas = plan.replicas() > 1;
  if (plan.ranks == 1 || (has_replicas ? plan.replicas_reduce_in() : plan.shards_reduce_in()) != Dtype::Int8) return 0;
  return has_replicas ? plan.layouts[unit].shard : plan.layouts[unit].padded;
}

StateBytes state_bytes(const StepPlan& plan) {
  StateBytes state;
  for (std::size_t u = 0; u < plan.layouts.size(); ++u) {
    const Bytes shard = size_of(Dtype::Fp32) * plan.layouts[u].shard;
    state.parameters += shard;
    state.gradients += shard;
    state.moments += shard * 2;
    state.residuals += size_of(Dtype::Fp32) * residual_values(plan, u);
  }
  return state;
}

void check_state_fits(const StepPlan& plan, const step::Arena& arena) {
  const StateBytes state = state_bytes(plan);
  const Bytes room = arena.budget() - arena.allocated();
  if (arena.budget() == Bytes{0} || state.total() <= room) return;
  std::string text = "out of the memory budget of " + for_people(arena.budget()) + " (memory.budget): by the strategy " +
                     to_text(plan.strategy) + " a rank keeps " + for_people(state.total()) + ": parameters " +
                     for_people(state.parameters) + ", gradients " + for_people(state.gradients) + ", optimizer state " +
                     for_people(state.moments);
  if (state.residuals > Bytes{0}) text += ", error feedback " + for_people(state.residuals);
  if (const std::string held = arena.holders(); !held.empty()) text += "; beside it there are " + held;
  if (const Bytes full = fully_sharded(plan); full < state.total()) {
    text += "; by full, over " + std::to_string(plan.ranks) + " ranks, it would be " + for_people(full);
  }
  throw OutOfBudget(text);
}

}  // namespace twinax::fsdp
