#include "twinax/fsdp/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/step/verify.hpp"

#include "fsdp/trainer_bodies.hpp"

namespace twinax::fsdp {
namespace {

/// Throws InvalidArgument unless the groups are what the strategy needs.
void check(const RankGroups& groups, const TrainerOptions& options) {
  if (options.strategy != Strategy::Hybrid) return;
  if (groups.node == nullptr || groups.across == nullptr) {
    throw InvalidArgument("the strategy hybrid shards units inside nodes: it needs the groups of this rank's node and of its place in all");
  }
  const collective::Group& node = groups.node->group();
  const collective::Group& across = groups.across->group();
  if (node.size() * across.size() != groups.all.group().size() || across.index * node.size() + node.index != groups.all.group().index) {
    throw InvalidArgument("the strategy hybrid: " + std::to_string(across.size()) + " nodes of " + std::to_string(node.size()) +
                          " ranks are not the " + std::to_string(groups.all.group().size()) + " ranks there are, node by node");
  }
}

StepPlan make_plan(const nn::Model<float>& model, const RankGroups& groups, const TrainerOptions& options) {
  check(groups, options);
  const bool counts_units = options.limiter != Limiter::None && options.limiter != Limiter::Bytes;
  if (counts_units && options.limit < 1) {
    throw InvalidArgument("a limiter of " + std::to_string(options.limit) + " units can hold nothing: fsdp.limit must be 1 at least");
  }
  StepPlan plan;
  plan.ranks = groups.all.group().size();
  plan.ranks_per_node = options.strategy == Strategy::Hybrid ? groups.node->group().size() : 1;
  plan.strategy = options.strategy;
  for (const nn::UnitSpec& unit : model.units()) {
    plan.unit_names.push_back(unit.name);
    plan.layouts.push_back(shard_layout(unit.elements, plan.shards()));
  }
  plan.stages.assign(model.stages().begin(), model.stages().end());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.forward_flops.push_back(model.forward_flops(s, options.micro_batch));
    plan.backward_flops.push_back(model.backward_flops(s, options.micro_batch));
  }
  plan.micro_batches = options.micro_batches;
  plan.limiter = options.limiter;
  plan.limit = counts_units ? options.limit : 0;
  plan.limit_bytes = options.limit_bytes;
  plan.limiter_side = options.limiter_side;
  plan.prefetch = options.prefetch;
  plan.backward_prefetch = options.backward_prefetch;
  plan.accumulate = options.accumulate;
  plan.checkpoint = options.checkpoint;
  plan.wire = options.wire;
  plan.reduce_wire = options.reduce_wire;
  return plan;
}

}  // namespace

class Trainer::Bodies final : public TrainerBodies {
 public:
  Bodies(nn::Model<float>& model, const RankGroups& groups, step::LiveExecutor& executor, const TrainerOptions& options)
      : TrainerBodies(model, groups, executor.arena(), options, make_plan(model, groups, options)),
        executor_(executor),
        training_(build_training_step(plan(), this)),
        evaluation_(build_evaluation_step(plan(), this)) {
    step::verify(training_.graph);
    step::verify(evaluation_.graph);
    executor_.prepare(training_.graph);
    executor_.prepare(evaluation_.graph);
  }

  StepOutcome run(const BuiltStep& built, std::int64_t step, const RankBatch& batch, Mode mode) {
    begin(step, batch, mode);
    StepOutcome outcome;
    outcome.run = executor_.run(built.graph, step);
    check_budget();
    const Totals totals = this->totals();
    outcome.loss = totals.tokens > 0 ? totals.loss_sum / totals.tokens : 0;
    outcome.tokens = std::llround(totals.tokens);
    outcome.gradient_norm = std::sqrt(totals.squared_norm);
    outcome.learning_rate = learning_rate_at(options().optimizer, step);
    outcome.skipped = mode == Mode::Train && !std::isfinite(totals.squared_norm);
    return outcome;
  }

  [[nodiscard]] const BuiltStep& training() const { return training_; }
  [[nodiscard]] const BuiltStep& evaluation() const { return evaluation_; }

 private:
  step::LiveExecutor& executor_;
  BuiltStep training_;
  BuiltStep evaluation_;
};

Trainer::Trainer(nn::Model<float>& model, collective::Collectives& collectives, step::LiveExecutor& executor, const TrainerOptions& options)
    : Trainer(model, RankGroups{.all = collectives}, executor, options) {}

Trainer::Trainer(nn::Model<float>& model, const RankGroups& groups, step::LiveExecutor& executor, const TrainerOptions& options)
    : bodies_(std::make_unique<Bodies>(model, groups, executor, options)) {}

Trainer::~Trainer() = default;

StepOutcome Trainer::step(std::int64_t step, const RankBatch& batch) {
  return bodies_->run(bodies_->training(), step, batch, Mode::Train);
}

StepOutcome Trainer::gradients_only(std::int64_t step, const RankBatch& batch) {
  return bodies_->run(bodies_->training(), step, batch, Mode::GradientsOnly);
}

StepOutcome Trainer::evaluate(std::int64_t step, const RankBatch& batch) {
  return bodies_->run(bodies_->evaluation(), step, batch, Mode::Evaluate);
}

std::vector<float> Trainer::whole_parameters(std::size_t unit) {
  return bodies_->whole(unit, false);
}

std::vector<float> Trainer::whole_gradients(std::size_t unit) {
  return bodies_->whole(unit, true);
}

Bytes Trainer::state_bytes() const {
  return bodies_->state_bytes();
}

const BuiltStep& Trainer::built() const {
  return bodies_->training();
}

const StepPlan& Trainer::plan() const {
  return bodies_->plan();
}

}  // namespace twinax::fsdp
