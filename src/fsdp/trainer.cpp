#include "twinax/fsdp/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/step/verify.hpp"

#include "fsdp/trainer_bodies.hpp"

namespace twinax::fsdp {
namespace {

StepPlan make_plan(const nn::Model<float>& model, int ranks, const TrainerOptions& options) {
  const bool counts_units = options.limiter != Limiter::None && options.limiter != Limiter::Bytes;
  if (counts_units && options.limit < 1) {
    throw InvalidArgument("a limiter of " + std::to_string(options.limit) + " units can hold nothing: fsdp.limit must be 1 at least");
  }
  StepPlan plan;
  for (const nn::UnitSpec& unit : model.units()) {
    plan.unit_names.push_back(unit.name);
    plan.layouts.push_back(shard_layout(unit.elements, options.strategy == Strategy::Replicate ? 1 : ranks));
  }
  plan.stages.assign(model.stages().begin(), model.stages().end());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.forward_flops.push_back(model.forward_flops(s, options.micro_batch));
    plan.backward_flops.push_back(model.backward_flops(s, options.micro_batch));
  }
  plan.micro_batches = options.micro_batches;
  plan.ranks = ranks;
  plan.strategy = options.strategy;
  plan.limiter = options.limiter;
  plan.limit = counts_units ? options.limit : 0;
  plan.limit_bytes = options.limit_bytes;
  plan.limiter_side = options.limiter_side;
  plan.prefetch = options.prefetch;
  plan.wire = options.wire;
  return plan;
}

}  // namespace

class Trainer::Bodies final : public TrainerBodies {
 public:
  Bodies(nn::Model<float>& model, collective::Collectives& collectives, step::LiveExecutor& executor, const TrainerOptions& options)
      : TrainerBodies(model, collectives, executor.arena(), options, make_plan(model, collectives.group().size(), options)),
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
    : bodies_(std::make_unique<Bodies>(model, collectives, executor, options)) {}

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
