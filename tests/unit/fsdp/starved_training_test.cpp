#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/nn/gpt.hpp"

#include "support/run_loopback.hpp"

namespace twinax::fsdp {
namespace {

constexpr int kRanks = 2;
constexpr int kSteps = 3;
constexpr std::int64_t kContext = 8;
constexpr std::int64_t kPage = 4096;

nn::GptShape shape_of(std::int64_t layers) {
  return {.layers = layers, .width = 16, .heads = 2, .context = kContext, .vocabulary = 32, .tied = true};
}

/// What a training left behind: parameters by unit, and the most that any rank's arena showed in a step.
struct Trained {
  std::vector<std::vector<float>> parameters;
  step::MemoryUse most;
  std::int64_t held_bytes = 0;  // reserved before the first step
};

using Choices = std::array<std::vector<tensor::Choice>, kRanks>;

/// Trains on 2 ranks in a memory budget; 0: as much as there is.
Trained train(std::int64_t layers, const TrainerOptions& options, std::int64_t budget, Choices& choices) {
  Trained trained;
  std::mutex mutex;
  test::run_loopback(kRanks, [&](net::Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    step::Arena arena(Bytes{budget});
    tensor::Matmul matmul;
    matmul.set_choices(choices[rank]);
    const auto model = nn::make_gpt<float>(shape_of(layers), 1, matmul,
                                           {.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")});
    const auto collectives = collective::make_own(transport, collective::Group::first(kRanks, transport.rank()), {});
    SystemClock clock;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, options);
    const std::int64_t held = arena.reserved().value;
    const Philox random(5, Draw::Test);
    step::MemoryUse most;
    for (int s = 0; s < kSteps; ++s) {
      std::vector<std::int32_t> tokens;
      for (std::uint64_t t = 0; t <= kContext; ++t) tokens.push_back(static_cast<std::int32_t>(random.bits(100 * s + 50 * rank + t) % 32));
      const StepOutcome outcome =
          trainer.step(s, {.tokens = tokens, .sequences = 1, .length = kContext, .global_tokens = kRanks * kContext});
      most.allocated_peak = std::max(most.allocated_peak, outcome.run.memory.allocated_peak);
      most.reserved_peak = std::max(most.reserved_peak, outcome.run.memory.reserved_peak);
      most.retries += outcome.run.memory.retries;
    }
    std::vector<std::vector<float>> parameters;
    for (std::size_t u = 0; u < model->units().size(); ++u) parameters.push_back(trainer.whole_parameters(u));
    const std::scoped_lock lock(mutex);
    choices[rank] = matmul.choices();
    if (rank == 0) trained = {.parameters = std::move(parameters), .most = most, .held_bytes = held};
  });
  return trained;
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
  const Trained ample = train(kLayers, options_of(Limiter::Window, step::WaitSide::Host), 0, choices);
  const std::int64_t root = 4 * shard_layout(nn::gpt_units(shape_of(kLayers))[0].elements, kRanks).padded;
  for (const Limiter limiter : {Limiter::None, Limiter::Window, Limiter::Block, Limiter::Bytes, Limiter::PingPong}) {
    for (const step::WaitSide side : {step::WaitSide::Host, step::WaitSide::Lane}) {
      const bool has_slots = limiter == Limiter::PingPong;
      const std::int64_t room = 2 * (root + kPage) + (has_slots ? 4 : 3) * block_bytes();
      const Trained starved = train(kLayers, options_of(limiter, side), ample.held_bytes + room, choices);
      const std::string what = "policy " + std::to_string(static_cast<int>(limiter)) + ", side " + std::to_string(static_cast<int>(side));
      EXPECT_EQ(starved.parameters, ample.parameters) << what;
      EXPECT_LE(starved.most.reserved_peak, Bytes{ample.held_bytes + room}) << what;
      if (has_slots) {
        EXPECT_EQ(starved.most.retries, 0) << what;
      }
    }
  }
}

TEST(StarvedTraining, PeaksGrowWithTheUnitsWithoutALimiterAndDoNotInAWindow) {
  Choices choices;
  const auto flight = [&](std::int64_t layers, Limiter limiter) {
    TrainerOptions options = options_of(limiter, step::WaitSide::Host);
    options.prefetch = 1000;  // as fast as the issuing thread gets
    const Trained trained = train(layers, options, 0, choices);
    return trained.most.reserved_peak.value - trained.held_bytes;
  };
  for (const std::int64_t layers : {3, 6, 12}) {
    EXPECT_GE(flight(layers, Limiter::None), (2 * layers - 1) * block_bytes()) << "all gathers of both passes, but one of the last block";
    EXPECT_LE(flight(layers, Limiter::Window), 4 * block_bytes() + 4 * kPage) << "two blocks' parameters and gradients, and the root's";
  }
}

TEST(StarvedTraining, ThatRunsOutThrowsTheSameErrorOnAllRanks) {
  Choices choices;
  const TrainerOptions options = options_of(Limiter::Window, step::WaitSide::Host);
  const Trained ample = train(2, options, 0, choices);
  std::mutex mutex;
  std::vector<std::string> errors;
  test::run_loopback(kRanks, [&](net::Transport& transport) {
    // One rank alone has too little.
    step::Arena arena(Bytes{transport.rank() == 1 ? ample.held_bytes + kPage : 0});
    tensor::Matmul matmul;
    const auto model = nn::make_gpt<float>(shape_of(2), 1, matmul,
                                           {.activations = &arena.resource("activations"), .workspaces = &arena.resource("workspaces")});
    const auto collectives = collective::make_own(transport, collective::Group::first(kRanks, transport.rank()), {});
    SystemClock clock;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, options);
    const std::vector<std::int32_t> tokens(kContext + 1, 3);
    try {
      (void)trainer.step(0, {.tokens = tokens, .sequences = 1, .length = kContext, .global_tokens = kRanks * kContext});
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
