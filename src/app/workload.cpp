#include "app/workload.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {

Workload::Workload(const Config& config, int ranks, int index, step::Arena& arena)
    : ranks_(ranks),
      index_(index),
      global_batch_(config.integer("train.global_batch")),
      share_(data::share(global_batch_, index, ranks)),
      rows_(config),
      arena_(arena) {
  if (global_batch_ < ranks) {
    throw ConfigError(fmt::format("train.global_batch = {}: {} ranks need a sequence each at least", global_batch_, ranks));
  }
  if (rows_.rows() < ranks) {
    throw ConfigError(fmt::format("data.path = {}: {} ranks are more than the {} sequence(s) of {} tokens that there are to train on",
                                  config.text("data.path"), ranks, rows_.rows(), rows_.row().length));
  }
  const std::int64_t largest = (global_batch_ + ranks - 1) / ranks;
  micro_batch_ = config.integer("train.batch") == 0 ? largest : std::min(config.integer("train.batch"), largest);
  micro_batches_ = (largest + micro_batch_ - 1) / micro_batch_;
  const std::int64_t wanted = config.integer("train.evaluate_sequences");
  evaluated_ = wanted == 0 ? rows_.held_out_rows() : std::min(wanted, rows_.held_out_rows());
  model_ = make_model(rows_.shape(), micro_batch_, matmul_,
                      {.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")},
                      config.flag("fsdp.checkpoint"));
}

std::int64_t Workload::heads() const {
  return std::visit([](const auto& shape) { return shape.heads; }, rows_.shape());
}

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const nn::UnitSpec& unit : model_->units()) sum += unit.elements;
  return sum;
}

fsdp::RankBatch Workload::training_batch(std::int64_t step) {
  const auto row = static_cast<std::size_t>(rows_.row().tokens());
  tokens_.resize(static_cast<std::size_t>(share_.size()) * row);
  for (std::int64_t i = 0; i < share_.size(); ++i) {
    rows_.training_row(step * global_batch_ + share_.begin + i, std::span(tokens_).subspan(static_cast<std::size_t>(i) * row, row));
  }
  return batch_of(share_.size(), global_tokens());
}

fsdp::RankBatch Workload::batch_of(std::int64_t sequences, std::int64_t global_tokens) const {
  return {.tokens = tokens_,
          .sequences = sequences,
          .length = rows_.row().length,
          .global_tokens = global_tokens,
          .targets = rows_.row().targets};
}

std::vector<std::int32_t> Workload::whole_batch(std::int64_t step) const {
  const auto row = static_cast<std::size_t>(rows_.row().tokens());
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(global_batch_) * row);
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    rows_.training_row(step * global_batch_ + i, std::span(tokens).subspan(static_cast<std::size_t>(i) * row, row));
  }
  return tokens;
}

std::int64_t Workload::evaluation_rounds() const {
  const std::int64_t a_round = micro_batch_ * ranks_;
  return (evaluated_ + a_round - 1) / a_round;
}

fsdp::RankBatch Workload::evaluation_batch(std::int64_t round) {
  const std::int64_t first = round * micro_batch_ * ranks_;
  const std::int64_t count = std::min(micro_batch_ * ranks_, evaluated_ - first);
  const data::Share mine = data::share(count, index_, ranks_);
  const auto row = static_cast<std::size_t>(rows_.row().tokens());
  tokens_.resize(static_cast<std::size_t>(mine.size()) * row);
  for (std::int64_t i = 0; i < mine.size(); ++i) {
    rows_.held_out_row(first + mine.begin + i, std::span(tokens_).subspan(static_cast<std::size_t>(i) * row, row));
  }
  return batch_of(mine.size(), count * rows_.row().target_tokens());
}

std::int64_t Workload::evaluation_bytes() const {
  std::int64_t bytes = 0;
  for (std::int64_t row = 0; row < evaluated_; ++row) bytes += rows_.held_out_bytes(row);
  return bytes;
}

Flops Workload::sequence_flops() const {
  Flops sum{0};
  for (std::size_t s = 0; s < model_->stages().size(); ++s) sum += model_->forward_flops(s, 1) + model_->backward_flops(s, 1);
  return sum;
}

Flops Workload::step_flops() const {
  return sequence_flops() * static_cast<double>(share_.size());
}

fsdp::ComputeTimes Workload::measure(int shards, int repeats, Clock& clock) {
  const fsdp::RankBatch batch = training_batch(0);
  const std::int64_t sequences = std::min(micro_batch_, batch.sequences);
  const auto tokens = static_cast<std::size_t>(sequences * batch.row().tokens());
  const nn::TokenBatch first{
      .tokens = batch.tokens.first(tokens), .sequences = sequences, .length = batch.length, .targets = batch.targets};
  const fsdp::MeasureOptions options{.shards = shards, .repeats = repeats, .memory = &arena_.resource("measuring")};
  fsdp::ComputeTimes times = fsdp::measure_compute(*model_, first, options, clock);
  arena_.give_back_cached();  // no run is to find it there
  return times;
}

}  // namespace twinax::app
