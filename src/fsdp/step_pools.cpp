#include "fsdp/step_pools.hpp"

#include "twinax/fsdp/prefetch.hpp"

namespace twinax::fsdp {

StepPools::StepPools(const StepPlan& plan, bool keeps_gathered, BuiltStep& built)
    : gathers_ahead_(keeps_gathered ? plan.prefetch : effective_prefetch(plan.prefetch, plan.limit)) {
  if (plan.is_resident()) return;
  built.gathered = gathered_ = built.graph.add_pool({.name = "gathered units", .capacity = keeps_gathered ? 0 : plan.limit});
  built.reductions = reductions_ = built.graph.add_pool({.name = "reductions", .capacity = plan.keeps_gradients() ? 0 : plan.limit});
}

void StepPools::take_gathered(step::Op& op) const {
  if (op.unit != 0) op.takes.push_back({.pool = gathered_});
}

void StepPools::give_gathered(step::Op& op) const {
  if (op.unit != 0) op.gives.push_back({.pool = gathered_});
}

void StepPools::take_reduction(step::Op& op) const {
  if (op.unit != 0) op.takes.push_back({.pool = reductions_});
}

void StepPools::give_reduction(step::Op& op) const {
  if (op.unit != 0) op.gives.push_back({.pool = reductions_});
}

}  // namespace twinax::fsdp
