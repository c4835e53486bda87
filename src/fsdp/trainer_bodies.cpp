#include "fsdp/trainer_bodies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "twinax/base/error.hpp"
#include "twinax/fsdp/state_bytes.hpp"
#include "twinax/tensor/kernels.hpp"

namespace twinax::fsdp {

TrainerBodies::TrainerBodies(nn::Model<float>& model, const RankGroups& groups, step::Arena& arena, const TrainerOptions& options,
                             StepPlan plan)
    : model_(model),
      all_(groups.all),
      shards_(options.strategy == Strategy::Hybrid ? *groups.node : groups.all),
      replicas_(options.strategy == Strategy::Hybrid ? *groups.across : groups.all),
      options_(options),
      plan_(std::move(plan)),
      arena_(arena),
      reduced_(&arena.resource("sharded gradients")) {
  const StateMemory memory{.parameters = &arena.resource("sharded parameters"),
                           .gradients = &arena.resource("sharded gradients"),
                           .moments = &arena.resource("optimizer state"),
                           .residuals = &arena.resource("error feedback")};
  check_state_fits(plan_, arena);
  std::int64_t largest = 0;
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    flats_.emplace_back(model.units()[u], u, options_.seed, plan_.shards(), all_.group().index % plan_.shards(), memory);
    largest = std::max(largest, plan_.layouts[u].shard);
  }
  if (!plan_.is_resident() && plan_.micro_batches > 1 && !plan_.keeps_gradients()) reduced_.resize(static_cast<std::size_t>(largest));
  make_feedback(*memory.residuals);
}

void TrainerBodies::make_feedback(std::pmr::memory_resource& memory) {
  if (residual_values(plan_, 0) == 0) return;
  const int pieces = plan_.replicas() > 1 ? plan_.replicas() : plan_.shards();
  for (std::size_t u = 0; u < flats_.size(); ++u) feedback_.emplace_back(residual_values(plan_, u), pieces, &memory);
}

void TrainerBodies::correct(int unit, std::span<float> gradients) {
  if (mode_ == Mode::Train && !feedback_.empty()) feedback_[static_cast<std::size_t>(unit)].apply(gradients, Dtype::Int8);
}

void TrainerBodies::begin(std::int64_t step, const RankBatch& batch, Mode mode) {
  const std::int64_t room = options_.micro_batch * (mode == Mode::Evaluate ? 1 : plan_.micro_batches);
  if (batch.sequences > room || std::ssize(batch.tokens) != batch.sequences * batch.row().tokens()) {
    throw InvalidArgument("a rank's batch of " + std::to_string(batch.sequences) + " sequences of " + std::to_string(batch.length) +
                          " tokens (" + std::to_string(batch.tokens.size()) + " given) does not fit the plan's " + std::to_string(room) +
                          " sequences");
  }
  step_ = step;
  batch_ = batch;
  mode_ = mode;
  loss_sum_ = 0;
  squared_norm_ = 0;
}

nn::TokenBatch TrainerBodies::micro(std::int64_t micro_batch) const {
  const std::int64_t first = std::min(batch_.sequences, micro_batch * options_.micro_batch);
  const std::int64_t count = std::min(batch_.sequences - first, options_.micro_batch);
  const std::int64_t row = batch_.row().tokens();
  return {.tokens = batch_.tokens.subspan(static_cast<std::size_t>(first * row), static_cast<std::size_t>(count * row)),
          .sequences = count,
          .length = batch_.length,
          .targets = batch_.targets};
}

std::span<const float> TrainerBodies::parameters_of(std::size_t stage, std::span<const float> whole) {
  const int unit = plan_.stages[stage].unit;
  const auto elements = static_cast<std::size_t>(plan_.layouts[static_cast<std::size_t>(unit)].elements);
  return whole.empty() ? std::as_const(flat(unit)).master().first(elements) : whole.first(elements);
}

void TrainerBodies::gather(int unit, std::span<float> whole) {
  shards_.all_gather(flat(unit).master(), whole, plan_.wire, net::Purpose::Parameters);
}

void TrainerBodies::forward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole) {
  if (stage == 0) model_.start(micro(micro_batch));
  model_.forward(stage, parameters_of(stage, whole));
  if (stage + 1 == plan_.stages.size()) loss_sum_ += model_.loss_sum();
}

void TrainerBodies::recompute(std::size_t stage, std::span<const float> whole) {
  model_.forward(stage, parameters_of(stage, whole));
}

void TrainerBodies::backward(std::size_t stage, std::int64_t /*micro_batch*/, std::span<const float> whole, std::span<float> gradients,
                             bool is_first) {
  const std::span<float> into = gradients.empty() ? flat(plan_.stages[stage].unit).gradient() : gradients;
  if (is_first) std::ranges::fill(into, 0.0F);
  const std::span<const float> parameters = parameters_of(stage, whole);
  model_.backward(stage, parameters, into.first(parameters.size()),
                  1.0F / static_cast<float>(std::max<std::int64_t>(batch_.global_tokens, 1)));
}

void TrainerBodies::reduce(int unit, std::span<float> gradients, bool is_first) {
  const std::span<float> mine = flat(unit).gradient();
  if (plan_.replicas() == 1) correct(unit, gradients);
  if (is_first) {
    shards_.reduce_scatter(gradients, mine, plan_.shards_reduce_in(), net::Purpose::Gradients);
  } else {
    const std::span<float> sum = std::span(reduced_).first(mine.size());
    shards_.reduce_scatter(gradients, sum, plan_.shards_reduce_in(), net::Purpose::Gradients);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += sum[i];
  }
}

void TrainerBodies::reduce_replicas(int unit) {
  correct(unit, flat(unit).gradient());
  replicas_.all_reduce(flat(unit).gradient(), plan_.replicas_reduce_in(), net::Purpose::Gradients);
}

void TrainerBodies::norm() {
  // Replicas hold the same gradients: they count once.
  if (all_.group().index >= plan_.shards()) return;
  for (const FlatParameter& parameter : flats_) {
    squared_norm_ += tensor::squared_norm<float>(parameter.gradient());
  }
}

void TrainerBodies::total() {
  std::array<double, 4> sums{loss_sum_, static_cast<double>(batch_.sequences * batch_.row().target_tokens()), squared_norm_,
                             arena_.overdraft().empty() ? 0.0 : 1.0};
  all_.all_reduce(sums, net::Purpose::Metrics);
  totals_ = {.loss_sum = sums[0], .tokens = sums[1], .squared_norm = sums[2], .ranks_over_budget = sums[3]};
}

void TrainerBodies::optimize(int unit) {
  if (mode_ != Mode::Train || !std::isfinite(totals_.squared_norm) || totals_.ranks_over_budget > 0) return;
  if (unit == 0) ++updates_;
  const double factor = clip_factor(options_.optimizer, std::sqrt(totals_.squared_norm));
  update(flat(unit), options_.optimizer, learning_rate_at(options_.optimizer, step_), factor, updates_);
}

void TrainerBodies::check_budget() {
  if (totals_.ranks_over_budget == 0) return;
  constexpr std::size_t kLength = 2048;
  const auto ranks = static_cast<std::size_t>(all_.group().size());
  std::string mine = arena_.overdraft();
  mine.resize(kLength);
  std::string all(kLength * ranks, '\0');
  all_.all_gather_bytes(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::string text = all.substr(r * kLength, kLength).c_str();
    if (!text.empty()) throw StepOutOfBudget(all_.group().ranks[r], text);
  }
}

std::vector<float> TrainerBodies::whole(std::size_t unit, bool gradients) {
  FlatParameter& parameter = flats_[unit];
  const std::span<const float> mine = gradients ? parameter.gradient() : parameter.master();
  std::vector<float> all(static_cast<std::size_t>(parameter.layout().padded));
  if (plan_.is_resident()) {
    std::ranges::copy(mine, all.begin());
  } else {
    shards_.all_gather(mine, all, Dtype::Fp32, net::Purpose::Control);
  }
  all.resize(static_cast<std::size_t>(parameter.layout().elements));
  return all;
}

Bytes TrainerBodies::state_bytes() const {
  Bytes sum{0};
  for (const FlatParameter& parameter : flats_) sum += parameter.bytes();
  for (const collective::ErrorFeedback& feedback : feedback_) sum += feedback.bytes();
  return sum;
}

}  // namespace twinax::fsdp
