#include "app/workload.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/data/token_cache.hpp"
#include "twinax/data/tokenizer.hpp"

#include "app/paths.hpp"

namespace twinax::app {
namespace {

/// Cuts a text into tokens, checks that the model knows them, and says how they are read.
data::Batcher open_text(const Config& config, std::int64_t vocabulary) {
  const std::string& path = config.text("data.path");
  if (path.empty()) {
    throw ConfigError(
        "data.path is empty: name a text file, or a folder of text files, to train on (make demo prepares build/data/bible.txt)");
  }
  data::PreparedTokens prepared =
      data::prepare_tokens(path, config.text("data.tokenizer"), data::token_cache_folder(config.text("data.cache")));
  if (prepared.tokens.header().vocabulary > vocabulary) {
    throw ConfigError(fmt::format("model.vocabulary = {}: the tokenizer {} has {} tokens; 0 takes its number", vocabulary,
                                  config.text("data.tokenizer"), prepared.tokens.header().vocabulary));
  }
  return {std::move(prepared.tokens), config.integer("model.context"), static_cast<std::uint64_t>(config.integer("train.seed")),
          config.real("data.held_out")};
}

nn::GptShape shape_of(const Config& config) {
  nn::GptShape shape{.layers = config.integer("model.layers"),
                     .width = config.integer("model.width"),
                     .heads = config.integer("model.heads"),
                     .context = config.integer("model.context"),
                     .vocabulary = config.integer("model.vocabulary"),
                     .tied = config.flag("model.tied")};
  if (shape.width % shape.heads != 0) {
    throw ConfigError(fmt::format("model.width = {} is not a multiple of model.heads = {}", shape.width, shape.heads));
  }
  if (shape.vocabulary == 0) shape.vocabulary = data::make_tokenizer(config.text("data.tokenizer"))->vocabulary();
  return shape;
}

}  // namespace

Workload::Workload(const Config& config, int ranks, int index, step::Arena& arena)
    : shape_(shape_of(config)),
      ranks_(ranks),
      index_(index),
      global_batch_(config.integer("train.global_batch")),
      share_(data::share(global_batch_, index, ranks)) {
  if (global_batch_ < ranks) {
    throw ConfigError(fmt::format("train.global_batch = {}: {} ranks need a sequence each at least", global_batch_, ranks));
  }
  batcher_.emplace(open_text(config, shape_.vocabulary));
  if (batcher_->blocks() < ranks) {
    throw ConfigError(fmt::format("data.path = {}: {} ranks are more than the {} sequence(s) of {} tokens that there are to train on",
                                  config.text("data.path"), ranks, batcher_->blocks(), shape_.context));
  }
  const std::int64_t largest = (global_batch_ + ranks - 1) / ranks;
  micro_batch_ = config.integer("train.batch") == 0 ? largest : std::min(config.integer("train.batch"), largest);
  micro_batches_ = (largest + micro_batch_ - 1) / micro_batch_;
  const std::int64_t wanted = config.integer("train.evaluate_sequences");
  evaluated_ = wanted == 0 ? batcher_->held_out_blocks() : std::min(wanted, batcher_->held_out_blocks());
  model_ = nn::make_gpt<float>(shape_, micro_batch_, matmul_,
                               {.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")});
}

std::int64_t Workload::parameters() const {
  std::int64_t sum = 0;
  for (const nn::UnitSpec& unit : model_->units()) sum += unit.elements;
  return sum;
}

fsdp::RankBatch Workload::training_batch(std::int64_t step) {
  const auto row = static_cast<std::size_t>(shape_.context + 1);
  tokens_.resize(static_cast<std::size_t>(share_.size()) * row);
  for (std::int64_t i = 0; i < share_.size(); ++i) {
    batcher_->training_sequence(step * global_batch_ + share_.begin + i,
                                std::span(tokens_).subspan(static_cast<std::size_t>(i) * row, row));
  }
  return {.tokens = tokens_, .sequences = share_.size(), .length = shape_.context, .global_tokens = global_tokens()};
}

std::vector<std::int32_t> Workload::whole_batch(std::int64_t step) const {
  const auto row = static_cast<std::size_t>(shape_.context + 1);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(global_batch_) * row);
  for (std::int64_t i = 0; i < global_batch_; ++i) {
    batcher_->training_sequence(step * global_batch_ + i, std::span(tokens).subspan(static_cast<std::size_t>(i) * row, row));
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
  const auto row = static_cast<std::size_t>(shape_.context + 1);
  tokens_.resize(static_cast<std::size_t>(mine.size()) * row);
  for (std::int64_t i = 0; i < mine.size(); ++i) {
    batcher_->held_out_sequence(first + mine.begin + i, std::span(tokens_).subspan(static_cast<std::size_t>(i) * row, row));
  }
  return {.tokens = tokens_, .sequences = mine.size(), .length = shape_.context, .global_tokens = count * shape_.context};
}

Flops Workload::step_flops() const {
  Flops sum{0};
  for (std::size_t s = 0; s < model_->stages().size(); ++s) {
    sum += model_->forward_flops(s, share_.size()) + model_->backward_flops(s, share_.size());
  }
  return sum;
}

fsdp::ComputeTimes Workload::measure(int repeats, Clock& clock) {
  const fsdp::RankBatch batch = training_batch(0);
  const std::int64_t sequences = std::min(micro_batch_, batch.sequences);
  const auto tokens = static_cast<std::size_t>(sequences * (batch.length + 1));
  return fsdp::measure_compute(*model_, {.tokens = batch.tokens.first(tokens), .sequences = sequences, .length = batch.length}, ranks_,
                               repeats, clock);
}

}  // namespace twinax::app
