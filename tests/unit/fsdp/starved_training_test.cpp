#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

constexpr int kRanks = 2;
constexpr int kSteps = 3;
constexpr std::int64_t kPage = 4096;

using test::Choices;
using test::Curve;

nn::GptShape shape_of(std::int64_t layers) {
  nn::GptShape shape = test::kShape;
  shape.layers = layers;
  return shape;
}

/// Trains on 2 ranks, a sequence each, in a memory budget; 0: as much as there is.
Curve train(std::int64_t layers, const TrainerOptions& options, std::int64_t budget, Choices& choices) {
  return test::train({.ranks = kRanks, .global_batch = kRanks, .steps = kSteps, .choices = &choices, .budget = {budget}, .layers = layers},
                     options);
}

/// What a block's whole run takes from the system.
std::int64_t block_bytes() {
  const std::int64_t bytes = 4 * shard_layout(nn::gpt_units(shape_of(1))[1].elements, kRanks).padded;
  return (bytes + kPage - 1) / kPage * kPage;
}

TrainerOptions options_of(Limiter limiter, step::WaitSide side) {
  TrainerOptions options;
  options.limiter = limiter;
  options.limit = 2;
  options.limit_bytes = {2 * block_bytes()};
  options.limiter_side = side;
  options.optimizer.steps = kSteps;
  return options;
}

TEST(StarvedTraining, EndsWithTheSameBitsUnderAllPolicies) {
  // Room for the root's parameters and gradients, two gathered blocks and the gradients of one: whatever more is in flight has to wait.
  constexpr std::int64_t kLayers = 6;
  Choices choices;
  const Curve ample = train(kLayers, options_of(Limiter::Window, step::WaitSide::Host), 0, choices);
  const std::int64_t root = 4 * shard_layout(nn::gpt_units(shape_of(kLayers))[0].elements, kRanks).padded;
  for (const Limiter limiter : {Limiter::None, Limiter::Window, Limiter::Block, Limiter::Bytes, Limiter::PingPong}) {
    for (const step::WaitSide side : {step::WaitSide::Host, step::WaitSide::Lane}) {
      const bool has_slots = limiter == Limiter::PingPong;
      const std::int64_t room = 2 * (root + kPage) + (has_slots ? 4 : 3) * block_bytes();
      const Curve starved = train(kLayers, options_of(limiter, side), ample.held_bytes + room, choices);
      const std::string what = "policy " + std::to_string(static_cast<int>(limiter)) + ", side " + std::to_string(static_cast<int>(side));
      EXPECT_EQ(starved.parameters, ample.parameters) << what;
      EXPECT_LE(starved.memory.reserved_peak, Bytes{ample.held_bytes + room}) << what;
      if (has_slots) {
        EXPECT_EQ(starved.memory.retries, 0) << what;
      }
    }
  }
}

TEST(StarvedTraining, PeaksGrowWithTheUnitsWithoutALimiterAndDoNotInAWindow) {
  Choices choices;
  const auto flight = [&](std::int64_t layers, Limiter limiter) {
    TrainerOptions options = options_of(limiter, step::WaitSide::Host);
    options.prefetch = 1000;  // as fast as the issuing thread gets
    const Curve trained = train(layers, options, 0, choices);
    return trained.memory.reserved_peak.value - trained.held_bytes;
  };
  for (const std::int64_t layers : {3, 6, 12}) {
    EXPECT_GE(flight(layers, Limiter::None), (2 * layers - 1) * block_bytes()) << "all gathers of both passes, but one of the last block";
    EXPECT_LE(flight(layers, Limiter::Window), 4 * block_bytes() + 4 * kPage) << "two blocks' parameters and gradients, and the root's";
  }
}

TEST(StarvedTraining, ThatRunsOutThrowsTheSameErrorOnAllRanks) {
  Choices choices;
  const TrainerOptions options = options_of(Limiter::Window, step::WaitSide::Host);
  const Curve ample = train(2, options, 0, choices);
  std::mutex mutex;
  std::vector<std::string> errors;
  twinax::test::run_loopback(kRanks, [&](net::Transport& transport) {
    // One rank alone has too little.
    step::Arena arena(Bytes{transport.rank() == 1 ? ample.held_bytes + kPage : 0});
    tensor::Matmul matmul;
    const auto model = nn::make_gpt<float>(shape_of(2), 1, matmul,
                                           {.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")});
    const auto collectives = collective::make_own(transport, collective::Group::first(kRanks, transport.rank()), {});
    SystemClock clock;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, options);
    const std::vector<std::int32_t> tokens(test::kContext + 1, 3);
    try {
      (void)trainer.step(0, {.tokens = tokens, .sequences = 1, .length = test::kContext, .global_tokens = kRanks * test::kContext});
    } catch (const StepOutOfBudget& error) {
      const std::scoped_lock lock(mutex);
      errors.emplace_back(error.what());
    }
  });
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_TRUE(errors[0].starts_with("rank 1: out of the memory budget of ")) << errors[0];
}

}  // namespace
}  // namespace twinax::fsdp
