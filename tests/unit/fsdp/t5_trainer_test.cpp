#include <cmath>
#include <mutex>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/t5.hpp"
#include "twinax/tensor/matmul.hpp"

#include "support/run_loopback.hpp"

namespace twinax::fsdp {
namespace {

constexpr nn::T5Shape kShape{.layers = 2,
                             .decoder_layers = 3,
                             .width = 16,
                             .heads = 2,
                             .head_width = 6,
                             .feed_forward = 20,
                             .context = 12,
                             .targets = 7,
                             .vocabulary = 32};
constexpr nn::RowShape kRow{.length = 12, .targets = 7};
constexpr int kSteps = 12;

/// What a run of some steps showed, the same on all ranks.
struct Curve {
  std::vector<double> losses;
  std::vector<double> norms;
  std::int64_t gathered_peak = 0;
  std::int64_t reductions_peak = 0;
};

/// Inputs drawn from the sequence's place, targets that follow from them: something to learn.
std::vector<std::int32_t> tokens_of(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t global_batch) {
  std::vector<std::int32_t> tokens;
  const Philox random(7, Draw::Test);
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::size_t begin = tokens.size();
    for (std::int64_t t = 0; t < kRow.length; ++t) {
      const auto index = static_cast<std::uint64_t>((step * global_batch + i) * kRow.length + t);
      tokens.push_back(static_cast<std::int32_t>(2 + random.bits(index) % 8));
    }
    for (std::int64_t t = 0; t < kRow.targets; ++t) tokens.push_back(tokens[begin + static_cast<std::size_t>(t)] + 10);
  }
  return tokens;
}

Curve train(int ranks, TrainerOptions options, std::int64_t global_batch, std::int64_t micro_batch) {
  Curve curve;
  std::mutex mutex;
  test::run_loopback(ranks, [&](net::Transport& transport) {
    const std::int64_t rank = transport.rank();
    const std::int64_t first = global_batch * rank / ranks;
    const std::int64_t count = global_batch * (rank + 1) / ranks - first;
    const std::int64_t largest = (global_batch + ranks - 1) / ranks;
    TrainerOptions mine = options;
    mine.micro_batch = micro_batch == 0 ? largest : micro_batch;
    mine.micro_batches = (largest + mine.micro_batch - 1) / mine.micro_batch;
    tensor::Matmul matmul;
    const auto model = nn::make_t5<float>(kShape, mine.micro_batch, matmul);
    const auto collectives = collective::make_own(transport, collective::Group::first(ranks, transport.rank()), {});
    SystemClock clock;
    step::Arena arena;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, mine);
    Curve seen;
    for (int s = 0; s < kSteps; ++s) {
      const std::vector<std::int32_t> tokens = tokens_of(s, first, count, global_batch);
      const StepOutcome outcome = trainer.step(s, {.tokens = tokens,
                                                   .sequences = count,
                                                   .length = kRow.length,
                                                   .global_tokens = global_batch * kRow.targets,
                                                   .targets = kRow.targets});
      seen.losses.push_back(outcome.loss);
      seen.norms.push_back(outcome.gradient_norm);
      if (trainer.built().gathered) {
        seen.gathered_peak = std::max(seen.gathered_peak, outcome.run.pool_peaks[trainer.built().gathered->index]);
        seen.reductions_peak = std::max(seen.reductions_peak, outcome.run.pool_peaks[trainer.built().reductions->index]);
      }
    }
    const std::scoped_lock lock(mutex);
    if (rank == 0) curve = seen;
  });
  return curve;
}

TrainerOptions options() {
  TrainerOptions options;
  options.optimizer.learning_rate = 1e-2;
  options.optimizer.steps = kSteps;
  options.optimizer.clip_norm = 0.5;
  return options;
}

const Curve& reference() {
  static const Curve curve = train(1, options(), 10, 0);
  return curve;
}

void expect_same(const Curve& curve, const Curve& expected) {
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (std::size_t s = 0; s < curve.losses.size(); ++s) {
    EXPECT_NEAR(curve.losses[s], expected.losses[s], 1e-5 * expected.losses[s]) << "step " << s;
    EXPECT_NEAR(curve.norms[s], expected.norms[s], 1e-4 * expected.norms[s]) << "step " << s;
  }
}

class EveryNumberOfRanks : public ::testing::TestWithParam<std::tuple<int, Strategy, Limiter, std::int64_t>> {};

TEST_P(EveryNumberOfRanks, TrainsAT5AsOneRankDoes) {
  const auto [ranks, strategy, limiter, micro_batch] = GetParam();
  TrainerOptions mine = options();
  mine.strategy = strategy;
  mine.limiter = limiter;
  const Curve curve = train(ranks, mine, 10, micro_batch);
  expect_same(curve, reference());
  if (limiter == Limiter::None) return;
  EXPECT_LE(curve.gathered_peak, mine.limit);
  EXPECT_LE(curve.reductions_peak, mine.limit);
}

INSTANTIATE_TEST_SUITE_P(T5Trainer, EveryNumberOfRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::Values(Strategy::Full, Strategy::Replicate),
                                            ::testing::Values(Limiter::None, Limiter::Window), ::testing::Values(0, 2)));

TEST(T5Trainer, LearnsTheStructureOfItsText) {
  EXPECT_LT(reference().losses.back(), 0.9 * reference().losses.front());
}

TEST(T5Trainer, TrainsWithARankThatHasNoSequences) {
  expect_same(train(4, options(), 3, 0), train(1, options(), 3, 0));
}

}  // namespace
}  // namespace twinax::fsdp
