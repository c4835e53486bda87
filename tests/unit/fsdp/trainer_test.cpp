#include "twinax/fsdp/trainer.hpp"

#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/nn/gpt.hpp"

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

using test::Choices;
using test::Curve;
using test::expect_same;
using test::kShape;
using test::kVocabulary;

Curve train(int ranks, const TrainerOptions& options, std::int64_t global_batch, std::int64_t micro_batch, int steps,
            Choices* choices = nullptr) {
  return test::train({.ranks = ranks, .global_batch = global_batch, .micro_batch = micro_batch, .steps = steps, .choices = choices},
                     options);
}

const Curve& reference() {
  static const Curve curve = train(1, test::learning_options(), 10, 0, 20);
  return curve;
}

class EveryNumberOfRanks : public ::testing::TestWithParam<std::tuple<int, Strategy, std::int64_t>> {};

TEST_P(EveryNumberOfRanks, TrainsAsOneRankDoes) {
  const auto [ranks, strategy, micro_batch] = GetParam();
  TrainerOptions mine = test::learning_options();
  mine.strategy = strategy;
  for (int per_node = 1; per_node <= ranks; ++per_node) {
    if (ranks % per_node != 0 || (strategy != Strategy::Hybrid && per_node > 1)) continue;
    SCOPED_TRACE(per_node);
    expect_same(
        test::train({.ranks = ranks, .ranks_per_node = per_node, .global_batch = 10, .micro_batch = micro_batch, .steps = 20}, mine),
        reference(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Trainer, EveryNumberOfRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(Strategy::Full, Strategy::Keep, Strategy::Hybrid, Strategy::Replicate),
                                            ::testing::Values(0, 2)));

TEST(Trainer, LearnsTheStructureOfItsText) {
  EXPECT_NEAR(reference().losses.front(), std::log(static_cast<double>(kVocabulary)), 0.05);
  EXPECT_LT(reference().losses.back(), 0.9 * reference().losses.front());
}

TEST(Trainer, GivesTheSameLossWhateverTheLimiterAndKeepsItsBound) {
  for (const std::int64_t limit : {1, 2, 3}) {
    for (const std::int64_t prefetch : {0, 1, 2}) {
      TrainerOptions mine = test::learning_options();
      mine.limit = limit;
      mine.prefetch = prefetch;
      const Curve curve = train(2, mine, 10, 2, 6);
      EXPECT_LE(curve.gathered_peak, limit);
      EXPECT_LE(curve.reductions_peak, limit);
      for (std::size_t s = 0; s < curve.losses.size(); ++s)
        EXPECT_NEAR(curve.losses[s], reference().losses[s], 1e-5 * reference().losses[s]);
    }
  }
}

TEST(Trainer, TrainsWithARankThatHasNoSequences) {
  TrainerOptions mine = test::learning_options();
  expect_same(train(4, mine, 3, 0, 5), train(1, mine, 3, 0, 5), 1e-5);
}

TEST(Trainer, OfTwoRunsWithTheSameChoicesGivesTheSameBits) {
  Choices choices;
  const Curve a = train(3, test::learning_options(), 10, 0, 6, &choices);
  const Curve b = train(3, test::learning_options(), 10, 0, 6, &choices);
  for (std::size_t s = 0; s < a.losses.size(); ++s) EXPECT_EQ(a.losses[s], b.losses[s]) << "step " << s;
}

TEST(Trainer, HoldsSixteenBytesForEachParameterOverTheRanks) {
  std::int64_t parameters = 0;
  for (const nn::UnitSpec& unit : nn::gpt_units(kShape)) parameters += unit.elements;
  for (const int ranks : {1, 2, 4}) {
    const double expected = 16.0 * static_cast<double>(parameters) / ranks;
    EXPECT_NEAR(static_cast<double>(train(ranks, test::learning_options(), 4, 0, 1).state_bytes), expected, 0.05 * expected) << ranks;
  }
}

TEST(Trainer, OfHybridHoldsSixteenBytesForEachParameterOverTheRanksOfANode) {
  std::int64_t parameters = 0;
  for (const nn::UnitSpec& unit : nn::gpt_units(kShape)) parameters += unit.elements;
  TrainerOptions mine = test::learning_options();
  mine.strategy = Strategy::Hybrid;
  const double expected = 16.0 * static_cast<double>(parameters) / 2;
  const Curve curve = test::train({.ranks = 4, .ranks_per_node = 2, .global_batch = 4}, mine);
  EXPECT_NEAR(static_cast<double>(curve.state_bytes), expected, 0.05 * expected);
}

TEST(Trainer, OfHybridRefusesGroupsThatAreNotItsNodes) {
  TrainerOptions mine = test::learning_options();
  mine.strategy = Strategy::Hybrid;
  tensor::Matmul matmul;
  twinax::test::run_loopback(2, [&](net::Transport& transport) {
    const auto model = nn::make_gpt<float>(kShape, 1, matmul);
    const test::Groups groups(transport, 2, 2);
    SystemClock clock;
    step::Arena arena;
    step::LiveExecutor executor(clock, arena, {});
    EXPECT_THROW(Trainer(*model, {.all = groups.get().all}, executor, mine), InvalidArgument);
    EXPECT_THROW(Trainer(*model, {.all = groups.get().all, .node = groups.get().node, .across = groups.get().node}, executor, mine),
                 InvalidArgument);
  });
}

TEST(Trainer, ConvergesWithBf16OnTheWire) {
  TrainerOptions mine = test::learning_options();
  mine.wire = Dtype::Bf16;
  const Curve curve = train(2, mine, 10, 0, 20);
  EXPECT_NEAR(curve.losses.back(), reference().losses.back(), 0.02 * reference().losses.back());
  EXPECT_NE(curve.losses.back(), reference().losses.back()) << "bf16 rounds";
}

TEST(Trainer, HoldsWhatInt8ReductionsHaveLostForEveryGradientThatIsSent) {
  TrainerOptions mine = test::learning_options();
  mine.reduce_wire = Dtype::Int8;
  std::int64_t shard = 0;
  std::int64_t padded = 0;
  for (const nn::UnitSpec& unit : nn::gpt_units(kShape)) {
    shard += shard_layout(unit.elements, 2).shard;
    padded += shard_layout(unit.elements, 2).padded;
  }
  EXPECT_EQ(train(2, mine, 4, 0, 1).state_bytes, 16 * shard + 4 * padded);
  mine.strategy = Strategy::Hybrid;
  EXPECT_EQ(test::train({.ranks = 4, .ranks_per_node = 2, .global_batch = 4}, mine).state_bytes, 16 * shard + 4 * shard)
      << "between nodes alone";
}

TEST(Trainer, AccumulatesInOneReductionWhatManyGive) {
  TrainerOptions mine = test::learning_options();
  mine.accumulate = Accumulate::Local;
  const Curve local = train(2, mine, 10, 2, 20);
  expect_same(local, reference(), 1e-5);
  const Curve reduced = train(2, test::learning_options(), 10, 2, 20);
  EXPECT_GT(local.buffers_peak, reduced.buffers_peak) << "whole gradients stay";
}

TEST(Trainer, GivesTheSameBitsWithAndWithoutCheckpoints) {
  Choices choices;
  const Curve plain = train(2, test::learning_options(), 10, 2, 6, &choices);
  TrainerOptions mine = test::learning_options();
  mine.checkpoint = true;
  EXPECT_EQ(train(2, mine, 10, 2, 6, &choices).losses, plain.losses);
}

TEST(Trainer, RoundsReductionsAloneToAWireOfTheirOwn) {
  TrainerOptions mine = test::learning_options();
  mine.reduce_wire = Dtype::Bf16;
  const Curve curve = train(2, mine, 10, 0, 20);
  EXPECT_NEAR(curve.losses[0], reference().losses[0], 1e-6 * reference().losses[0]) << "gathers are exact";
  EXPECT_NEAR(curve.losses.back(), reference().losses.back(), 0.02 * reference().losses.back());
  EXPECT_NE(curve.losses.back(), reference().losses.back());
}

TEST(Trainer, RefusesAnEmptyWindow) {
  TrainerOptions mine = test::learning_options();
  mine.limit = 0;
  EXPECT_THROW((void)train(2, mine, 4, 0, 1), InvalidArgument);
}

}  // namespace
}  // namespace twinax::fsdp
