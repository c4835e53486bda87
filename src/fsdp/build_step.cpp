#include "twinax/fsdp/build_step.hpp"

#include "twinax/base/error.hpp"
#include "twinax/fsdp/prefetch.hpp"

#include "fsdp/step_writer.hpp"

namespace twinax::fsdp {
namespace {

void check(const StepPlan& plan) {
  const std::size_t units = plan.unit_names.size();
  const std::size_t stages = plan.stages.size();
  if (plan.layouts.size() != units || plan.forward_flops.size() != stages || plan.backward_flops.size() != stages ||
      plan.micro_batches < 1) {
    throw InvalidArgument("a step plan of " + std::to_string(units) + " units, " + std::to_string(stages) + " stages and " +
                          std::to_string(plan.micro_batches) + " micro-batches has " + std::to_string(plan.layouts.size()) +
                          " layouts and " + std::to_string(plan.forward_flops.size()) + "/" + std::to_string(plan.backward_flops.size()) +
                          " stage costs");
  }
  if (plan.shards() < 1 || plan.ranks % plan.shards() != 0) {
    throw InvalidArgument("units sharded in nodes of " + std::to_string(plan.shards()) + " ranks: " + std::to_string(plan.ranks) +
                          " ranks are no whole number of nodes");
  }
}

}  // namespace

BuiltStep build_training_step(const StepPlan& plan, StepBodies* bodies) {
  check(plan);
  const bool keeps = plan.strategy == Strategy::Keep;
  StepWriter writer(plan, bodies, training_uses(plan.stages, plan.micro_batches, keeps), keeps);
  writer.write_uses();
  writer.write_update();
  return writer.take();
}

BuiltStep build_evaluation_step(const StepPlan& plan, StepBodies* bodies) {
  check(plan);
  StepWriter writer(plan, bodies, evaluation_uses(plan.stages), false);
  writer.write_uses();
  writer.write_total();
  return writer.take();
}

}  // namespace twinax::fsdp
