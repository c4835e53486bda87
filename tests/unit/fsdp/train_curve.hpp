#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/nn/t5.hpp"
#include "twinax/tensor/matmul.hpp"

#include "support/run_loopback.hpp"

namespace twinax::fsdp::test {

constexpr std::int64_t kContext = 16;
constexpr std::int64_t kVocabulary = 32;
constexpr nn::GptShape kShape{.layers = 3, .width = 16, .heads = 2, .context = kContext, .vocabulary = kVocabulary, .tied = true};

/// Inputs and targets that are together a row of kContext + 1 tokens.
constexpr nn::T5Shape kT5Shape{.layers = 2,
                               .decoder_layers = 3,
                               .width = 16,
                               .heads = 2,
                               .head_width = 6,
                               .feed_forward = 20,
                               .context = 12,
                               .targets = kContext + 1 - 12,
                               .vocabulary = kVocabulary};

/// What a run of some steps showed, the same on all ranks.
struct Curve {
  std::vector<double> losses;
  std::vector<double> norms;
  std::int64_t gathered_peak = 0;
  std::int64_t reductions_peak = 0;
  std::int64_t buffers_peak = 0;
  std::int64_t state_bytes = 0;
  std::vector<std::vector<float>> parameters;  ///< by unit, in the end
  std::int64_t held_bytes = 0;                 ///< had from the system before the first step
  step::MemoryUse memory;                      ///< the most of all steps, and all their retries
};

/// The backends of matrix products, which are chosen by time, of each rank.
using Choices = std::vector<std::vector<tensor::Choice>>;

/// How a run is laid out.
struct Layout {
  int ranks = 1;
  int ranks_per_node = 1;  ///< for hybrid
  std::int64_t global_batch = 10;
  std::int64_t micro_batch = 0;  ///< sequences computed at once; 0 = all
  int steps = 1;
  bool is_t5 = false;                   ///< kT5Shape instead of kShape
  Choices* choices = nullptr;           ///< used where they are there, and given back
  Bytes budget{0};                      ///< of each rank's memory; 0: as much as there is
  std::int64_t layers = kShape.layers;  ///< of a GPT
};

/// Options by which a tiny model learns its text within `steps`.
inline TrainerOptions learning_options(std::int64_t steps = 20) {
  TrainerOptions options;
  options.optimizer.learning_rate = 1e-2;
  options.optimizer.steps = steps;
  options.optimizer.clip_norm = 0.5;
  return options;
}

/// What the whole run of the layout's largest block takes, on however many ranks.
inline Bytes largest_block_bytes(const Layout& layout) {
  std::int64_t largest = 0;
  const std::vector<nn::UnitSpec> units = layout.is_t5 ? nn::t5_units(kT5Shape) : nn::gpt_units(kShape);
  for (std::size_t u = 1; u < units.size(); ++u) largest = std::max(largest, shard_layout(units[u].elements, layout.ranks).padded);
  return size_of(Dtype::Fp32) * largest;
}

/// Expects curves to agree to `tolerance`, norms to ten times that.
inline void expect_same(const Curve& curve, const Curve& expected, double tolerance) {
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (std::size_t s = 0; s < curve.losses.size(); ++s) {
    EXPECT_NEAR(curve.losses[s], expected.losses[s], tolerance * expected.losses[s]) << "step " << s;
    EXPECT_NEAR(curve.norms[s], expected.norms[s], 10 * tolerance * expected.norms[s]) << "step " << s;
  }
}

/// Sequences [first, first + count) of a step, of a text with structure: each token mostly follows from the one before.
inline std::vector<std::int32_t> tokens_of(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t global_batch) {
  std::vector<std::int32_t> tokens;
  const Philox random(7, Draw::Test);
  for (std::int64_t i = first; i < first + count; ++i) {
    for (std::int64_t t = 0; t <= kContext; ++t) {
      const std::uint64_t index = static_cast<std::uint64_t>(((step * global_batch) + i) * (kContext + 1) + t);
      const auto drawn = static_cast<std::int32_t>(random.bits(index) % kVocabulary);
      tokens.push_back(t > 0 && drawn % 4 != 0 ? (tokens.back() * 3 + 1) % static_cast<std::int32_t>(kVocabulary) : drawn);
    }
  }
  return tokens;
}

/// A rank's groups over one transport.
class Groups {
 public:
  Groups(net::Transport& transport, int ranks, int ranks_per_node, const collective::OwnOptions& options = {})
      : all_(make(transport, ranks, 0, 1, options, 1)),
        node_(make(transport, ranks_per_node, transport.rank() / ranks_per_node * ranks_per_node, 1, options, 2)),
        across_(make(transport, ranks / ranks_per_node, transport.rank() % ranks_per_node, ranks_per_node, options, 3)) {}
  [[nodiscard]] RankGroups get() const { return {.all = *all_, .node = node_.get(), .across = across_.get()}; }

 private:
  static std::unique_ptr<collective::Collectives> make(net::Transport& transport, int count, int first, int stride,
                                                       collective::OwnOptions options, std::uint8_t lane) {
    collective::Group group{.ranks = {}, .index = (transport.rank() - first) / stride};
    for (int i = 0; i < count; ++i) group.ranks.push_back(first + i * stride);
    options.lane = lane;
    return collective::make_own(transport, group, options);
  }
  std::unique_ptr<collective::Collectives> all_, node_, across_;
};

/// Trains some steps on each rank of a loopback fabric.
inline Curve train(const Layout& layout, const TrainerOptions& options) {
  Curve curve;
  if (layout.choices != nullptr) layout.choices->resize(static_cast<std::size_t>(layout.ranks));
  std::mutex mutex;
  twinax::test::run_loopback(layout.ranks, [&](net::Transport& transport) {
    const std::int64_t rank = transport.rank();
    const std::int64_t first = layout.global_batch * rank / layout.ranks;
    const std::int64_t count = layout.global_batch * (rank + 1) / layout.ranks - first;
    const std::int64_t largest = (layout.global_batch + layout.ranks - 1) / layout.ranks;
    TrainerOptions mine = options;
    mine.micro_batch = layout.micro_batch == 0 ? largest : layout.micro_batch;
    mine.micro_batches = (largest + mine.micro_batch - 1) / mine.micro_batch;
    tensor::Matmul matmul;
    if (layout.choices != nullptr) matmul.set_choices((*layout.choices)[static_cast<std::size_t>(rank)]);
    step::Arena arena(layout.budget);
    nn::GptShape gpt = kShape;
    gpt.layers = layout.layers;
    const nn::ModelMemory memory{.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")};
    const auto model = layout.is_t5 ? nn::make_t5<float>(kT5Shape, mine.micro_batch, matmul, memory, mine.checkpoint)
                                    : nn::make_gpt<float>(gpt, mine.micro_batch, matmul, memory, mine.checkpoint);
    const nn::RowShape row{.length = layout.is_t5 ? kT5Shape.context : kContext, .targets = layout.is_t5 ? kT5Shape.targets : 0};
    const Groups groups(transport, layout.ranks, layout.ranks_per_node);
    SystemClock clock;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, groups.get(), executor, mine);
    Curve seen;
    seen.held_bytes = arena.reserved().value;
    for (int s = 0; s < layout.steps; ++s) {
      const std::vector<std::int32_t> tokens = tokens_of(s, first, count, layout.global_batch);
      const StepOutcome outcome = trainer.step(s, {.tokens = tokens,
                                                   .sequences = count,
                                                   .length = row.length,
                                                   .global_tokens = layout.global_batch * row.target_tokens(),
                                                   .targets = row.targets});
      seen.losses.push_back(outcome.loss);
      seen.norms.push_back(outcome.gradient_norm);
      seen.buffers_peak = std::max(seen.buffers_peak, outcome.run.buffers_peak.value);
      seen.memory.reserved_peak = std::max(seen.memory.reserved_peak, outcome.run.memory.reserved_peak);
      seen.memory.retries += outcome.run.memory.retries;
      if (trainer.built().gathered) {
        seen.gathered_peak = std::max(seen.gathered_peak, outcome.run.pool_peaks[trainer.built().gathered->index]);
        seen.reductions_peak = std::max(seen.reductions_peak, outcome.run.pool_peaks[trainer.built().reductions->index]);
      }
    }
    seen.state_bytes = trainer.state_bytes().value;
    for (std::size_t u = 0; u < model->units().size(); ++u) seen.parameters.push_back(trainer.whole_parameters(u));
    if (layout.choices != nullptr) (*layout.choices)[static_cast<std::size_t>(rank)] = matmul.choices();
    const std::scoped_lock lock(mutex);
    if (rank == 0) curve = seen;
  });
  return curve;
}

}  // namespace twinax::fsdp::test
