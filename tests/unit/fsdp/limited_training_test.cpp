#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

using step::WaitSide;
using test::Curve;

constexpr std::array kLimiters{Limiter::None, Limiter::Window, Limiter::Block, Limiter::Bytes, Limiter::PingPong};
constexpr std::array kSides{WaitSide::Host, WaitSide::Lane};

/// 4 ranks, of which hybrid makes 2 nodes, with two micro-batches of a sequence each.
test::Layout layout_of(bool is_t5, test::Choices& choices) {
  return {.ranks = 4, .ranks_per_node = 2, .global_batch = 8, .micro_batch = 1, .steps = 2, .is_t5 = is_t5, .choices = &choices};
}

TrainerOptions options_of(Strategy strategy, Limiter limiter, WaitSide side, bool checkpoint, const test::Layout& layout) {
  TrainerOptions options = test::learning_options(layout.steps);
  options.strategy = strategy;
  options.limiter = limiter;
  options.limit_bytes = test::largest_block_bytes(layout) * 2;
  options.limiter_side = side;
  options.checkpoint = checkpoint;
  return options;
}

class LimitedTraining : public ::testing::TestWithParam<std::tuple<Strategy, bool>> {
 protected:
  [[nodiscard]] static Strategy strategy() { return std::get<0>(GetParam()); }
  [[nodiscard]] static bool is_t5() { return std::get<1>(GetParam()); }
};

TEST_P(LimitedTraining, EndsWithTheBitsOfTrainingWithoutALimiter) {
  test::Choices choices;
  const test::Layout layout = layout_of(is_t5(), choices);
  std::array<Curve, 2> unlimited;  // sums have an order by how micro-batches accumulate
  for (const Accumulate accumulate : {Accumulate::Reduce, Accumulate::Local}) {
    TrainerOptions options = options_of(strategy(), Limiter::None, WaitSide::Host, false, layout);
    options.accumulate = accumulate;
    unlimited[static_cast<std::size_t>(accumulate)] = test::train(layout, options);
  }
  for (std::size_t policy = 0; policy < kLimiters.size(); ++policy) {
    for (std::size_t side = 0; side < kSides.size(); ++side) {
      for (const bool checkpoint : {false, true}) {
        TrainerOptions options = options_of(strategy(), kLimiters[policy], kSides[side], checkpoint, layout);
        const bool is_odd = (policy + side) % 2 == 1;
        options.accumulate = is_odd ? Accumulate::Local : Accumulate::Reduce;
        options.backward_prefetch = is_odd == checkpoint ? BackwardPrefetch::Post : BackwardPrefetch::Pre;
        const Curve curve = test::train(layout, options);
        const Curve& expected = unlimited[static_cast<std::size_t>(options.accumulate)];
        const std::string what = "limiter " + std::to_string(policy) + ", side " + std::to_string(side) + ", checkpoint " +
                                 std::to_string(static_cast<int>(checkpoint));
        EXPECT_EQ(curve.parameters, expected.parameters) << what;
        EXPECT_EQ(curve.losses, expected.losses) << what;
      }
    }
  }
}

TEST_P(LimitedTraining, NeverWaitsForMemoryUnderPingPong) {
  // In a budget that is all taken before the first step; but what keep keeps is gathered in it.
  test::Choices choices;
  test::Layout layout = layout_of(is_t5(), choices);
  for (const WaitSide side : kSides) {
    for (const bool checkpoint : {false, true}) {
      const TrainerOptions options = options_of(strategy(), Limiter::PingPong, side, checkpoint, layout);
      layout.budget = {0};
      const Curve ample = test::train(layout, options);
      layout.budget = strategy() == Strategy::Keep ? ample.memory.reserved_peak : Bytes{ample.held_bytes};
      const Curve tight = test::train(layout, options);
      EXPECT_EQ(tight.memory.retries, 0);
      EXPECT_EQ(tight.memory.reserved_peak, layout.budget);
      EXPECT_EQ(tight.parameters, ample.parameters);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryStrategyAndModel, LimitedTraining,
                         ::testing::Combine(::testing::Values(Strategy::Full, Strategy::Keep, Strategy::Hybrid, Strategy::Replicate),
                                            ::testing::Bool()));

}  // namespace
}  // namespace twinax::fsdp
