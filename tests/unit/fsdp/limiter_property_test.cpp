#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/collective/own_collectives.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/step/verify.hpp"
#include "twinax/step/virtual_executor.hpp"

#include "support/run_loopback.hpp"
#include "unit/fsdp/random_plan.hpp"

namespace twinax::fsdp {
namespace {

using drawn::DrawnCost;
using drawn::Numbers;
using drawn::random_plan;
using drawn::text_of;

/// The most buffers of blocks alive at once whose names begin with `what`, counted from the events without the pools' help: a buffer lives
/// from its producer's issue to its releaser's end.
std::int64_t most_alive(const StepPlan& plan, const step::StepGraph& graph, const step::StepRun& run, const std::string& what) {
  struct Life {
    Seconds from{0};
    Seconds until{0};
  };
  std::map<step::BufferId, Life> lives;
  for (const step::Event& event : run.events) {
    for (const step::BufferId id : graph[event.op].produces) lives[id].from = event.issued;
    for (const step::BufferId id : graph[event.op].releases) lives[id].until = event.end;
  }
  std::int64_t most = 0;
  const auto counts = [&](step::BufferId id) {
    const std::string& name = graph.buffers()[id.index].name;
    return name.starts_with(what) && name != what + plan.unit_names[0];
  };
  for (const auto& [at, life] : lives) {
    std::int64_t alive = 0;
    for (const auto& [id, other] : lives) alive += counts(id) && other.from <= life.from && life.from < other.until ? 1 : 0;
    most = std::max(most, alive);
  }
  return most;
}

TEST(Limiter, KeepsItsBoundForRandomModelsInAnyTiming) {
  Numbers numbers(1);
  for (std::uint64_t round = 0; round < 400; ++round) {
    const StepPlan plan = random_plan(numbers);
    const BuiltStep built = build_training_step(plan, nullptr);
    ASSERT_NO_THROW(step::verify(built.graph)) << text_of(plan);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const step::StepRun run = step::run_virtual(built.graph, DrawnCost(4 * round + seed), {});
      ASSERT_EQ(run.events.size(), built.graph.ops().size());
      ASSERT_LE(most_alive(plan, built.graph, run, "parameters "), plan.limit) << text_of(plan);
      ASSERT_LE(most_alive(plan, built.graph, run, "gradients "), plan.limit) << text_of(plan);
      if (!built.gathered) continue;
      ASSERT_LE(run.pool_peaks[built.gathered->index], plan.limit) << text_of(plan);
      ASSERT_LE(run.pool_peaks[built.reductions->index], plan.limit) << text_of(plan);
    }
    ASSERT_NO_THROW(step::verify(build_evaluation_step(plan, nullptr).graph)) << text_of(plan);
  }
}

TEST(Limiter, LetsBuffersOfTheRootLiveOutsideItsBound) {
  Numbers numbers(2);
  for (int round = 0; round < 100; ++round) {
    const StepPlan plan = random_plan(numbers);
    const BuiltStep built = build_training_step(plan, nullptr);
    for (const step::Op& op : built.graph.ops()) {
      if (op.unit != 0) continue;
      EXPECT_TRUE(op.takes.empty() && op.gives.empty()) << op.name << ", " << text_of(plan);
    }
  }
}

TEST(Limiter, BoundsMemoryByItsUnitsAndTheRoot) {
  // Whole parameters and gradients of `limit` blocks each, the largest at most, and both of the root.
  Numbers numbers(3);
  for (std::uint64_t round = 0; round < 200; ++round) {
    const StepPlan plan = random_plan(numbers);
    std::vector<std::int64_t> sizes;
    for (std::size_t u = 1; u < plan.layouts.size(); ++u) sizes.push_back(4 * plan.layouts[u].padded);
    const std::int64_t largest = sizes.empty() ? 0 : *std::ranges::max_element(sizes);
    const std::int64_t bound = 2 * (plan.limit * largest + 4 * plan.layouts[0].padded);
    const step::StepRun run = step::run_virtual(build_training_step(plan, nullptr).graph, DrawnCost(round), {});
    EXPECT_LE(run.buffers_peak, Bytes{bound}) << text_of(plan);
  }
}

TEST(Limiter, CostsTimeOnlyAsItIsTightened) {
  // In one order of issue, a tighter window can only delay.
  Numbers numbers(4);
  for (std::uint64_t round = 0; round < 100; ++round) {
    const BuiltStep built = build_training_step(random_plan(numbers), nullptr);
    const DrawnCost cost(round);
    EXPECT_LE(step::run_virtual(built.graph, cost, {.unlimited_credits = true}).end, step::run_virtual(built.graph, cost, {}).end);
  }
}

/// Peaks of the pools as one rank's trainer reports them: gathered units, reductions.
using Peaks = std::array<std::int64_t, 2>;

constexpr std::int64_t kContext = 8;

/// Trains two steps on each rank of a loopback fabric, and gives the peaks of all ranks.
std::vector<Peaks> train(int ranks, std::int64_t layers, const TrainerOptions& options) {
  std::vector<Peaks> peaks(static_cast<std::size_t>(ranks));
  const nn::GptShape shape{.layers = layers, .width = 16, .heads = 2, .context = kContext, .vocabulary = 32, .tied = true};
  test::run_loopback(ranks, [&](net::Transport& transport) {
    tensor::Matmul matmul;
    const auto model = nn::make_gpt<float>(shape, options.micro_batch, matmul);
    const auto collectives = collective::make_own(transport, collective::Group::first(ranks, transport.rank()), {});
    SystemClock clock;
    step::Arena arena;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, options);
    const std::int64_t sequences = options.micro_batch * options.micro_batches;
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(sequences * (kContext + 1)), 5);
    for (int s = 0; s < 2; ++s) {
      const RankBatch batch{.tokens = tokens, .sequences = sequences, .length = kContext, .global_tokens = ranks * sequences * kContext};
      const StepOutcome outcome = trainer.step(s, batch);
      Peaks& mine = peaks[static_cast<std::size_t>(transport.rank())];
      if (!trainer.built().gathered) continue;
      mine[0] = std::max(mine[0], outcome.run.pool_peaks[trainer.built().gathered->index]);
      mine[1] = std::max(mine[1], outcome.run.pool_peaks[trainer.built().reductions->index]);
    }
  });
  return peaks;
}

TEST(Limiter, KeepsItsBoundInRandomTrainings) {
  Numbers numbers(5);
  for (int round = 0; round < 12; ++round) {
    TrainerOptions options;
    options.limit = numbers.between(1, 4);
    options.prefetch = numbers.between(0, 3);
    options.micro_batches = numbers.between(1, 3);
    options.optimizer.steps = 2;
    const int ranks = static_cast<int>(numbers.between(1, 4));
    const std::int64_t layers = numbers.between(1, 6);
    for (const Peaks& peaks : train(ranks, layers, options)) {
      const std::string what = std::to_string(ranks) + " ranks, " + std::to_string(layers) + " layers, limit " +
                               std::to_string(options.limit) + ", prefetch " + std::to_string(options.prefetch);
      EXPECT_LE(peaks[0], options.limit) << what;
      EXPECT_LE(peaks[1], options.limit) << what;
      EXPECT_EQ(peaks[0] > 0, ranks > 1) << what << ": one rank gathers nothing";
    }
  }
}

TEST(Limiter, OfNoneRunsAheadByTheWholePrefetch) {
  TrainerOptions options;
  options.limiter = Limiter::None;
  options.limit = 1;
  options.prefetch = 100;
  options.optimizer.steps = 2;
  // All gathers of the step are issued before the first use: 6 layers forward and 5 backward, the last one's shared.
  for (const Peaks& peaks : train(2, 6, options)) EXPECT_EQ(peaks[0], 2 * 6 - 1);
}

}  // namespace
}  // namespace twinax::fsdp
