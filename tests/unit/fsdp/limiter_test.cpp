#include "twinax/fsdp/limiter.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/step/verify.hpp"
#include "twinax/step/virtual_executor.hpp"

#include "unit/fsdp/random_plan.hpp"

namespace twinax::fsdp {
namespace {

using drawn::DrawnCost;
using drawn::Numbers;
using step::Event;
using step::WaitSide;
using ::testing::HasSubstr;

constexpr std::array kPolicies{Limiter::None, Limiter::Window, Limiter::Block, Limiter::Bytes, Limiter::PingPong};
constexpr std::array kSides{WaitSide::Host, WaitSide::Lane};

/// A random plan on several ranks, of any strategy that gathers, with a policy that can hold its units.
StepPlan random_plan(Numbers& numbers, Limiter policy, WaitSide side) {
  StepPlan plan = drawn::random_plan(numbers);
  plan.strategy = std::array{Strategy::Full, Strategy::Keep, Strategy::Hybrid}[static_cast<std::size_t>(numbers.between(0, 2))];
  plan.accumulate = numbers.between(0, 1) == 0 ? Accumulate::Reduce : Accumulate::Local;
  plan.ranks_per_node = 2;
  if (plan.ranks == 1 || plan.strategy == Strategy::Hybrid) plan.ranks = 2 * static_cast<int>(numbers.between(1, 2));
  std::int64_t largest = 1;
  for (std::size_t u = 0; u < plan.layouts.size(); ++u) {
    plan.layouts[u] = shard_layout(plan.layouts[u].elements, plan.shards());
    if (u > 0) largest = std::max(largest, 4 * plan.layouts[u].padded);
  }
  plan.limiter = policy;
  if (policy == Limiter::None) plan.limit = 0;
  plan.limit_bytes = {largest + numbers.between(0, 3 * largest)};
  plan.limiter_side = side;
  return plan;
}

/// The most bytes and buffers of blocks alive at once whose names begin with `what`, by the events alone. A buffer lives from its
/// producer's issue, or begin where lanes wait, to its releaser's end.
std::pair<std::int64_t, std::int64_t> most_alive(const StepPlan& plan, const step::StepGraph& graph, const step::StepRun& run,
                                                 const std::string& what) {
  struct Life {
    Seconds from{0};
    Seconds until{0};
    std::int64_t size = 0;
  };
  std::map<step::BufferId, Life> lives;
  for (const Event& event : run.events) {
    for (const step::BufferId id : graph[event.op].produces) {
      const step::BufferSpec& buffer = graph.buffers()[id.index];
      if (!buffer.name.starts_with(what) || buffer.name == what + plan.unit_names[0]) continue;
      lives[id] = {.from = plan.limiter_side == WaitSide::Host ? event.issued : event.begin, .size = buffer.size.value};
    }
    for (const step::BufferId id : graph[event.op].releases) {
      if (lives.contains(id)) lives[id].until = event.end;
    }
  }
  std::int64_t most = 0;
  std::int64_t most_bytes = 0;
  for (const auto& [at, life] : lives) {
    std::int64_t alive = 0;
    std::int64_t bytes = 0;
    for (const auto& [id, other] : lives) {
      if (other.from > life.from || life.from >= other.until) continue;
      ++alive;
      bytes += other.size;
    }
    most = std::max(most, alive);
    most_bytes = std::max(most_bytes, bytes);
  }
  return {most, most_bytes};
}

TEST(LimiterPolicies, KeepTheirBoundsForRandomModelsInAnyTiming) {
  Numbers numbers(1);
  for (const Limiter policy : kPolicies) {
    for (const WaitSide side : kSides) {
      for (std::uint64_t round = 0; round < 60; ++round) {
        const StepPlan plan = random_plan(numbers, policy, side);
        const std::string what = drawn::text_of(plan) + ", policy " + std::to_string(static_cast<int>(policy));
        const BuiltStep built = build_training_step(plan, nullptr);
        ASSERT_NO_THROW(step::verify(built.graph)) << what;
        ASSERT_NO_THROW(step::verify(build_evaluation_step(plan, nullptr).graph)) << what;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
          const step::StepRun run = step::run_virtual(built.graph, DrawnCost(3 * round + seed), {});
          ASSERT_EQ(run.events.size(), built.graph.ops().size());
          for (const char* kind : {"parameters ", "gradients "}) {
            if (kind[0] == 'p' ? plan.strategy == Strategy::Keep : plan.keeps_gradients()) continue;
            const auto [units, bytes] = most_alive(plan, built.graph, run, kind);
            if (policy == Limiter::Bytes) {
              ASSERT_LE(bytes, plan.limit_bytes.value) << what;
            } else if (policy != Limiter::None) {
              ASSERT_LE(units, plan.limit) << what;
            }
          }
        }
      }
    }
  }
}

/// A plan of equal blocks, whose gathers and forwards are looked at.
StepPlan even_plan(Limiter policy, std::int64_t limit, std::int64_t prefetch, WaitSide side) {
  constexpr int kBlocks = 8;
  StepPlan plan{.ranks = 2, .limiter = policy, .limit = limit, .limit_bytes = {}, .limiter_side = side, .prefetch = prefetch};
  for (int u = 0; u <= kBlocks; ++u) {
    plan.unit_names.push_back(u == 0 ? "root" : "h." + std::to_string(u - 1));
    plan.layouts.push_back(shard_layout(1024, plan.ranks));
    plan.stages.push_back({.name = plan.unit_names.back(), .unit = u});
  }
  plan.limit_bytes = size_of(Dtype::Fp32) * (limit * plan.layouts[1].padded);
  plan.forward_flops.assign(plan.stages.size(), Flops{1});
  plan.backward_flops.assign(plan.stages.size(), Flops{2});
  return plan;
}

/// When the gather and the last use of each block ran in a forward pass.
struct Passes {
  std::vector<Event> gathers, forwards;
};

Passes run_forward(const StepPlan& plan, std::uint64_t seed) {
  const BuiltStep built = build_evaluation_step(plan, nullptr);
  step::verify(built.graph);
  Passes passes;
  for (const Event& event : step::run_virtual(built.graph, DrawnCost(seed), {}).events) {
    const step::Op& op = built.graph[event.op];
    if (op.unit <= 0) continue;
    (op.kind == step::OpKind::Gather ? passes.gathers : passes.forwards).push_back(event);
  }
  return passes;
}

TEST(LimiterPolicies, LetAWindowsGatherStartWhenTheOneBeforeItByTheLimitIsUsed) {
  for (const WaitSide side : kSides) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      for (const Limiter policy : {Limiter::Window, Limiter::PingPong, Limiter::Bytes}) {
        const Passes passes = run_forward(even_plan(policy, 2, 1, side), seed);
        for (std::size_t i = 2; i < passes.gathers.size(); ++i) EXPECT_GE(passes.gathers[i].begin, passes.forwards[i - 2].end);
      }
    }
  }
}

TEST(LimiterPolicies, LetTheFirstGatherOfABlockWaitForTheWholeOneBefore) {
  bool is_ever_early = false;
  for (const WaitSide side : kSides) {
    for (const std::int64_t prefetch : {0, 1, 3}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Passes passes = run_forward(even_plan(Limiter::Block, 2, prefetch, side), seed);
        for (std::size_t k = 1; k < passes.gathers.size() / 2; ++k) {
          EXPECT_GE(passes.gathers[2 * k].begin, passes.forwards[2 * k - 1].end);
          is_ever_early = is_ever_early || passes.gathers[2 * k + 1].begin < passes.forwards[2 * k].end;
        }
      }
    }
  }
  EXPECT_TRUE(is_ever_early) << "the second of a block doesn't wait";
}

TEST(LimiterPolicies, ThatLanesWaitForDontHoldTheHostUp) {
  for (const Limiter policy : kPolicies) {
    const BuiltStep built = build_training_step(even_plan(policy, 2, 1, WaitSide::Lane), nullptr);
    for (const Event& event : step::run_virtual(built.graph, DrawnCost(1), {}).events) EXPECT_EQ(event.issued, Seconds{0});
  }
}

TEST(LimiterPolicies, OfPingPongTakeNoMemoryButSlots) {
  const BuiltStep built = build_training_step(even_plan(Limiter::PingPong, 2, 1, WaitSide::Host), nullptr);
  EXPECT_EQ(built.graph.slots().size(), 6U) << "two of gathers, two of gradients, and the root's";
  for (const step::BufferSpec& buffer : built.graph.buffers()) EXPECT_TRUE(buffer.slot) << buffer.name;
}

TEST(LimiterPolicies, OfPingPongMakeNoMoreSlotsThanAStepHasBuffers) {
  const StepPlan plan = even_plan(Limiter::PingPong, 100, 1, WaitSide::Host);
  const std::size_t blocks = plan.layouts.size() - 1;
  // A gather for each use, but one for both of the last block; a block's gradients once; the root's own of each.
  EXPECT_EQ(build_training_step(plan, nullptr).graph.slots().size(), (2 * blocks - 1) + blocks + 2);
}

TEST(LimiterPolicies, RefuseAUnitThatIsLargerThanTheWholeBudget) {
  StepPlan plan = even_plan(Limiter::Bytes, 1, 1, WaitSide::Host);
  EXPECT_NO_THROW((void)build_training_step(plan, nullptr));
  plan.limit_bytes -= Bytes{1};
  try {
    (void)build_training_step(plan, nullptr);
    FAIL() << "a unit takes 4096 bytes";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("fsdp.limit_bytes = 4095B: the unit \"h.0\" takes 4.10 KB"));
  }
}

TEST(LimiterPolicies, AreReadByName) {
  EXPECT_EQ(parse_limiter("block"), Limiter::Block);
  EXPECT_EQ(parse_limiter("pingpong"), Limiter::PingPong);
  EXPECT_THROW((void)parse_limiter("fence"), InvalidArgument);
  EXPECT_EQ(parse_limiter_side("lane"), WaitSide::Lane);
  EXPECT_THROW((void)parse_limiter_side("both"), InvalidArgument);
}

}  // namespace
}  // namespace twinax::fsdp
