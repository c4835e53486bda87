#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/step/live_executor.hpp"
#include "twinax/step/verify.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::Draft;
using test::make_op;
using test::Numbers;
using ::testing::HasSubstr;

constexpr Bytes kPage{4096};

/// A clock, an arena with a budget and an executor.
struct Live {
  explicit Live(Bytes budget = {0}) : arena(budget), executor(clock, arena, {}) {}
  SystemClock clock;
  Arena arena;
  LiveExecutor executor;
};

/// Units of a page that are gathered, used once and released under a limiter of `pool`. The first use waits for `go`, which an op lets go
/// that is issued behind the gather of unit `ahead`.
struct RunAhead {
  RunAhead(std::size_t units, const PoolSpec& pool, std::size_t ahead) {
    draft.pools = {pool};
    for (std::size_t u = 0; u < units; ++u) {
      draft.buffers.push_back({.name = "parameters", .size = kPage});
      Op gather = make_op(LaneKind::Collective, "gather");
      gather.takes = {{.pool = {0}}};
      gather.produces = {{u}};
      const OpId by{draft.ops.size()};
      draft.ops.push_back(gather);
      Op forward = make_op(LaneKind::Compute, "forward", {by});
      forward.gives = {{.pool = {0}}};
      forward.releases = {{u}};
      if (u == 0) forward.body = [this](OpContext&) { go.wait(); };
      draft.ops.push_back(forward);
      if (u != ahead) continue;
      Op op = make_op(LaneKind::Service, "go");
      op.body = [this](OpContext&) { go.count_down(); };
      draft.ops.push_back(op);
    }
  }
  MemoryUse run() {
    Live live;
    return run(live.executor);
  }
  MemoryUse run(LiveExecutor& executor) {
    const StepGraph graph = draft.build();
    verify(graph);
    return executor.run(graph, 0).memory;
  }
  std::latch go{1};
  Draft draft;
};

TEST(LiveMemory, GrowsWithTheUnitsWithoutALimiterAndDoesNotInAWindow) {
  for (const std::size_t units : {4U, 8U, 32U}) {
    const auto all = static_cast<std::int64_t>(units);
    EXPECT_EQ(RunAhead(units, {.name = "pool", .capacity = 0}, units - 1).run().reserved_peak, kPage * all);
    EXPECT_EQ(RunAhead(units, {.name = "pool", .capacity = 2}, 1).run().reserved_peak, kPage * 2);
    EXPECT_EQ(RunAhead(units, {.name = "pool", .capacity = 2, .refill = Refill::All}, 1).run().reserved_peak, kPage * 2);
  }
}

TEST(LiveMemory, StaysWithinAWindowThatTheLaneWaitsForWhileTheHostRunsOn) {
  // The first use waits for the last op to be issued: a host that waited for credits would hang here.
  for (const Refill refill : {Refill::Each, Refill::All}) {
    const PoolSpec pool{.name = "pool", .capacity = 2, .refill = refill, .side = WaitSide::Lane};
    const MemoryUse use = RunAhead(32, pool, 31).run();
    EXPECT_EQ(use.reserved_peak, kPage * 2);
    EXPECT_EQ(use.retries, 0);
  }
}

TEST(LiveMemory, IsNotReusedTooEarlyByALaterExecutorOfTheSameArena) {
  Live live;
  EXPECT_EQ(RunAhead(8, {.name = "pool", .capacity = 0}, 7).run(live.executor).reserved_peak, kPage * 8);
  live.arena.give_back_cached();
  LiveExecutor later(live.clock, live.arena, {});
  EXPECT_EQ(RunAhead(4, {.name = "pool", .capacity = 0}, 3).run(later).reserved_peak, kPage * 4)
      << "what its ops use has not passed because ops of the first executor have";
}

/// A buffer of the collective lane that is back before one of the compute lane is wanted.
Draft two_lanes() {
  Draft draft;
  draft.pools = {{.name = "pool", .capacity = 1}};
  for (std::size_t i = 0; i < 2; ++i) {
    draft.buffers.push_back({.name = i == 0 ? "first" : "second", .size = kPage * 2});
    Op op = make_op(i == 0 ? LaneKind::Collective : LaneKind::Compute, "op");
    op.takes = op.gives = {{.pool = {0}}};
    op.produces = op.releases = {{i}};
    draft.ops.push_back(op);
  }
  return draft;
}

TEST(LiveMemory, GivesTheCacheBackAndTriesAgainPastTheBudget) {
  const StepGraph graph = two_lanes().build();
  Live live(kPage * 2);
  for (int step = 0; step < 3; ++step) {
    const MemoryUse use = live.executor.run(graph, step).memory;
    EXPECT_EQ(use.retries, step == 0 ? 1 : 2) << "of later steps the first buffer finds the second one's cache";
    EXPECT_EQ(use.reserved_peak, kPage * 2);
    EXPECT_GT(use.stalled, Seconds{0});
    EXPECT_EQ(live.arena.overdraft(), "");
  }
}

TEST(LiveMemory, EndsAStepBeyondTheBudgetAndTellsOfIt) {
  Draft draft = two_lanes();
  draft.pools.clear();
  for (Op& op : draft.ops) {
    op.takes.clear();
    op.gives.clear();
  }
  draft.ops[0].releases.clear();
  draft.ops[1].after = {OpId{0}};
  draft.ops[1].releases = {{0}, {1}};
  std::atomic<bool> ran = false;
  draft.ops[1].body = [&ran](OpContext&) { ran = true; };
  Live live(kPage * 3);
  const StepRun run = live.executor.run(draft.build(), 0);
  EXPECT_TRUE(ran);
  EXPECT_EQ(run.memory.retries, 1);
  EXPECT_EQ(run.memory.reserved_peak, kPage * 4);
  EXPECT_THAT(live.arena.overdraft(), HasSubstr("\"second\" takes 8.19 KB more"));
  EXPECT_THAT(live.arena.overdraft(), HasSubstr(": first 8.19 KB"));
}

TEST(LiveMemory, IsDrainedBeforeEveryStepBeyondTheBudget) {
  // One page is held all along. Of the units none fits beside it, and each is used for much longer than it takes to issue the others.
  Draft draft;
  draft.buffers = {{.name = "held", .size = kPage}};
  Op first = make_op(LaneKind::Collective, "hold");
  first.produces = {{0}};
  draft.ops = {first};
  for (std::size_t u = 1; u <= 8; ++u) {
    draft.buffers.push_back({.name = "parameters", .size = kPage * 2});
    Op gather = make_op(LaneKind::Collective, "gather");
    gather.produces = {{u}};
    const OpId by{draft.ops.size()};
    draft.ops.push_back(gather);
    Op forward = make_op(LaneKind::Compute, "forward", {by});
    forward.releases = {{u}};
    forward.body = [](OpContext&) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    draft.ops.push_back(forward);
  }
  Op last = make_op(LaneKind::Compute, "let go", {{0}});
  last.releases = {{0}};
  draft.ops.push_back(last);
  Live live(kPage * 2);
  EXPECT_EQ(live.executor.run(draft.build(), 0).memory.reserved_peak, kPage * 3);
  EXPECT_THAT(live.arena.overdraft(), HasSubstr("\"parameters\" takes 8.19 KB more"));
}

TEST(LiveMemory, OfSlotsIsMadeOnceAndUsedInTurn) {
  StepGraph graph;
  std::vector<SlotId> slots;
  for (const char* name : {"ping", "pong"}) slots.push_back(graph.add_slot({.name = name, .size = kPage}));
  std::vector<std::byte*> seen;
  for (std::size_t i = 0; i < 6; ++i) {
    const BufferId buffer = graph.add_buffer({.name = "buffer", .size = Bytes{100}, .slot = slots[i % 2]});
    Op op = make_op(LaneKind::Collective, "produce");
    op.produces = {buffer};
    op.body = [&seen, buffer](OpContext& context) {
      EXPECT_EQ(context.buffer(buffer).size(), 100U);
      seen.push_back(context.buffer(buffer).data());
    };
    const OpId by = graph.add(op);
    Op use = make_op(LaneKind::Compute, "use", {by});
    use.releases = {buffer};
    graph.add(use);
  }
  EXPECT_NO_THROW(verify(graph));
  Live live(kPage * 2);
  live.executor.prepare(graph);
  for (int step = 0; step < 2; ++step) EXPECT_EQ(live.executor.run(graph, step).memory.retries, 0);
  ASSERT_EQ(seen.size(), 12U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 2U);
  for (std::size_t i = 2; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 2]);
}

TEST(LiveMemory, OfSlotsThatDoNotFitIsRefusedBeforeAnythingRuns) {
  StepGraph graph;
  graph.add_slot({.name = "gathered #0", .size = kPage * 2});
  Live live(kPage);
  EXPECT_THROW(live.executor.prepare(graph), OutOfBudget);
}

/// Random graphs of all kinds of pools, in which each body marks what it produces and looks for its mark where it is used.
TEST(LiveMemory, KeepsItsContentInRandomGraphsHoweverLittleThereIs) {
  Numbers numbers(21);
  for (int round = 0; round < 300; ++round) {
    Draft draft = test::random_draft(numbers);
    test::add_random_policies(draft, numbers);
    std::atomic<int> faults = 0;
    std::int64_t sum = 0;
    for (const BufferSpec& buffer : draft.buffers) sum += (buffer.size.value + kPage.value) / kPage.value * kPage.value;
    for (Op& op : draft.ops) {
      op.body = [&faults, produces = op.produces, uses = op.uses, releases = op.releases](OpContext& context) {
        for (const BufferId id : produces) std::ranges::fill(context.buffer(id), static_cast<std::byte>(id.index));
        for (const auto* ids : {&uses, &releases}) {
          for (const BufferId id : *ids) {
            const std::span<std::byte> memory = context.buffer(id);
            faults += std::ranges::count(memory, static_cast<std::byte>(id.index)) == std::ssize(memory) ? 0 : 1;
          }
        }
      };
    }
    const StepGraph graph = draft.build();
    ASSERT_NO_THROW(verify(graph)) << "round " << round;
    Live live(Bytes{1 + numbers.between(0, sum)});
    for (int step = 0; step < 2; ++step) {
      const StepRun run = live.executor.run(graph, step);
      ASSERT_EQ(faults, 0) << "round " << round;
      for (std::size_t p = 0; p < graph.pools().size(); ++p) {
        if (graph.pools()[p].capacity == 0) continue;
        ASSERT_LE(run.pool_peaks[p], graph.pools()[p].capacity) << "round " << round;
      }
      ASSERT_EQ(live.arena.active(), Bytes{0}) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace twinax::step
