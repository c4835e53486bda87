#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

using test::Curve;
using test::expect_same;

constexpr int kSteps = 12;

Curve train(int ranks, const TrainerOptions& options, std::int64_t global_batch, std::int64_t micro_batch) {
  return test::train({.ranks = ranks, .global_batch = global_batch, .micro_batch = micro_batch, .steps = kSteps, .is_t5 = true}, options);
}

TrainerOptions options() {
  return test::learning_options(kSteps);
}

const Curve& reference() {
  static const Curve curve = train(1, options(), 10, 0);
  return curve;
}

class EveryNumberOfRanks : public ::testing::TestWithParam<std::tuple<int, Strategy, Limiter, std::int64_t>> {};

TEST_P(EveryNumberOfRanks, TrainsAT5AsOneRankDoes) {
  const auto [ranks, strategy, limiter, micro_batch] = GetParam();
  TrainerOptions mine = options();
  mine.strategy = strategy;
  mine.limiter = limiter;
  const Curve curve = train(ranks, mine, 10, micro_batch);
  expect_same(curve, reference(), 1e-5);
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
  // Of three sequences some gradients are next to nothing: AdamW divides them by their own size, rounding with them, unless epsilon is
  // above.
  TrainerOptions mine = options();
  mine.optimizer.epsilon = 1e-6;
  expect_same(train(4, mine, 3, 0), train(1, mine, 3, 0), 1e-5);
}

}  // namespace
}  // namespace twinax::fsdp
