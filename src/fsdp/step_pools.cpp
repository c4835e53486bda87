#include "fsdp/step_pools.hpp"

#include <algorithm>
#include <iterator>

namespace twinax::fsdp {
namespace {

void append(std::vector<step::CreditUse>& to, const std::vector<step::CreditUse>& uses) {
  to.insert(to.end(), uses.begin(), uses.end());
}

}  // namespace

StepPools::StepPools(const StepPlan& plan, std::span<const Use> uses, bool keeps_gathered, BuiltStep& built)
    : plan_(plan), keeps_gathered_(keeps_gathered) {
  for (const Use& use : uses) {
    if (use.unit != 0 && use.group == std::ssize(group_units_)) group_units_.push_back(use.unit);
  }
  if (plan.is_resident()) return;
  check_limiter(plan);
  // The memory of units that a step keeps is cached, and serves an evaluation too: buffers made for that alone would stand beside it.
  const bool has_slots = plan.strategy != Strategy::Keep;
  const auto backwards = std::ranges::count_if(uses, [](const Use& use) { return use.unit != 0 && use.backward; });
  const LimitedSide gathered{.pool = "gathered units", .slot = has_slots ? "gathered" : "", .buffers = std::ssize(group_units_)};
  gathered_.emplace(plan, built.graph, gathered, !keeps_gathered);
  reductions_.emplace(plan, built.graph, LimitedSide{.pool = "reductions", .slot = "gradients", .buffers = backwards},
                      !plan.keeps_gradients());
  built.gathered = gathered_->units();
  built.reductions = reductions_->units();
}

bool StepPools::is_gathered_ahead(int now, int next) const {
  return keeps_gathered_ ? next <= now + plan_.prefetch : fsdp::is_gathered_ahead(plan_, group_units_, now, next);
}

void StepPools::take_gathered(step::Op& op) const {
  append(op.takes, gathered_->credits(op.unit));
}

void StepPools::give_gathered(step::Op& op) const {
  append(op.gives, gathered_->credits(op.unit));
}

void StepPools::take_reduction(step::Op& op) const {
  append(op.takes, reductions_->credits(op.unit));
}

void StepPools::give_reduction(step::Op& op) const {
  append(op.gives, reductions_->credits(op.unit));
}

}  // namespace twinax::fsdp
