#include "twinax/step/live_executor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/step/verify.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::Draft;
using test::make_op;
using test::Numbers;

/// A clock, an arena and an executor.
struct Live {
  explicit Live(std::array<ActivitySlot*, kLanes> activity = {}) : executor(clock, arena, activity) {}
  SystemClock clock;
  Arena arena;
  LiveExecutor executor;
};

/// What the bodies of a random graph see of each other.
class Watched {
 public:
  explicit Watched(Draft draft)
      : draft_(std::move(draft)), ended_(draft_.ops.size()), out_(draft_.pools.size()), most_(draft_.pools.size()) {
    for (std::size_t i = 0; i < draft_.ops.size(); ++i) draft_.ops[i].body = [this, i](OpContext& context) { run(i, context); };
  }
  [[nodiscard]] const Draft& draft() const { return draft_; }
  [[nodiscard]] std::int64_t faults() const { return faults_; }
  [[nodiscard]] std::int64_t most(std::size_t pool) const { return most_[pool]; }
  [[nodiscard]] bool all_ended() const {
    return std::ranges::all_of(ended_, [](const auto& flag) { return flag.load(); });
  }

 private:
  void run(std::size_t index, OpContext& context) {
    const Op& op = draft_.ops[index];
    for (const OpId id : op.after) expect(ended_[id.index]);
    for (std::size_t j = 0; j < draft_.ops.size(); ++j) {
      if (draft_.ops[j].lane == op.lane) expect(ended_[j] == (j < index));
    }
    // What bodies hold is at most what is out: taken at issue, before the body; given when complete, after it.
    for (const CreditUse& use : op.takes) {
      const std::int64_t now = out_[use.pool.index] += use.amount;
      for (std::int64_t seen = most_[use.pool.index]; seen < now && !most_[use.pool.index].compare_exchange_weak(seen, now);) {
      }
    }
    for (const BufferId id : op.produces) {
      const std::span<std::byte> memory = context.buffer(id);
      expect(memory.size() == static_cast<std::size_t>(draft_.buffers[id.index].size.value));
      expect(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0);
      std::ranges::fill(memory, static_cast<std::byte>(id.index));
    }
    for (const auto* ids : {&op.uses, &op.releases}) {
      for (const BufferId id : *ids) {
        const std::span<std::byte> memory = context.buffer(id);
        expect(std::ranges::count(memory, static_cast<std::byte>(id.index)) == std::ssize(memory));
      }
    }
    for (const CreditUse& use : op.gives) out_[use.pool.index] -= use.amount;
    ended_[index] = true;
  }
  void expect(bool holds) { faults_ += holds ? 0 : 1; }

  Draft draft_;
  std::vector<std::atomic<bool>> ended_;
  std::vector<std::atomic<std::int64_t>> out_;
  std::vector<std::atomic<std::int64_t>> most_;
  std::atomic<std::int64_t> faults_ = 0;
};

/// A run's events are one for each op, within the run, begun after what they wait for has ended, and without overlap in a lane.
void expect_consistent(const StepGraph& graph, const StepRun& run, std::int64_t step) {
  ASSERT_EQ(run.events.size(), graph.ops().size());
  std::array<Seconds, kLanes> lane_end{};
  Seconds issued = run.begin;
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    const Event& event = run.events[i];
    EXPECT_EQ(event.op, OpId{i});
    EXPECT_EQ(event.step, step);
    EXPECT_LE(issued, event.issued) << "issued in program order";
    EXPECT_LE(event.issued, event.begin);
    EXPECT_LE(event.begin, event.end);
    EXPECT_LE(event.end, run.end);
    for (const OpId id : graph.ops()[i].after) EXPECT_LE(run.events[id.index].end, event.begin);
    Seconds& free = lane_end[static_cast<std::size_t>(graph.ops()[i].lane)];
    EXPECT_LE(free, event.begin) << "two ops of a lane at once";
    free = event.end;
    issued = event.issued;
  }
}

TEST(LiveExecutor, RunsAnEmptyGraph) {
  Live live;
  const StepRun run = live.executor.run(StepGraph{}, 0);
  EXPECT_TRUE(run.events.empty());
  EXPECT_LE(run.begin, run.end);
}

TEST(LiveExecutor, RunsOpsWithoutBodies) {
  Live live;
  StepGraph graph;
  graph.add(make_op(LaneKind::Compute, "a"));
  graph.add(make_op(LaneKind::Service, "b", {OpId{0}}));
  expect_consistent(graph, live.executor.run(graph, 3), 3);
}

TEST(LiveExecutor, RunsRandomGraphsInOrderWithinCreditsAndWithBuffersOfTheirOwn) {
  Numbers numbers(9);
  Live live;
  for (int round = 0; round < 150; ++round) {
    Watched watched(test::random_draft(numbers));
    const StepGraph graph = watched.draft().build();
    ASSERT_NO_THROW(verify(graph));
    const StepRun run = live.executor.run(graph, round);
    EXPECT_EQ(watched.faults(), 0) << "round " << round;
    EXPECT_TRUE(watched.all_ended());
    expect_consistent(graph, run, round);
    for (std::size_t p = 0; p < graph.pools().size(); ++p) {
      const std::int64_t capacity = graph.pools()[p].capacity;
      EXPECT_LE(watched.most(p), run.pool_peaks[p]) << "bodies can't hold more than is out";
      if (capacity != 0) {
        EXPECT_LE(run.pool_peaks[p], capacity) << "round " << round;
      }
    }
    EXPECT_EQ(live.arena.active(), Bytes{0}) << "every buffer has come back";
  }
}

TEST(LiveExecutor, TellsBodiesTheStep) {
  Live live;
  StepGraph graph;
  std::int64_t seen = -1;
  Op op = make_op(LaneKind::Service, "op");
  op.body = [&seen](OpContext& context) { seen = context.step(); };
  graph.add(op);
  (void)live.executor.run(graph, 42);
  EXPECT_EQ(seen, 42);
}

TEST(LiveExecutor, RunsLanesAtOnce) {
  // Every lane's body waits for the others': they would hang on fewer threads.
  Live live;
  std::latch all(kLanes);
  StepGraph graph;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Op op = make_op(static_cast<LaneKind>(lane), "op");
    op.body = [&all](OpContext&) { all.arrive_and_wait(); };
    graph.add(op);
  }
  expect_consistent(graph, live.executor.run(graph, 0), 0);
}

TEST(LiveExecutor, AllocatesNothingOnceAGraphHasRun) {
  // One buffer after the other, each issued when the one before is back: the second run finds all of them cached.
  Live live;
  Draft draft;
  draft.pools = {{.name = "pool", .capacity = 1}};
  for (std::size_t i = 0; i < 10; ++i) {
    draft.buffers.push_back({.name = "buffer", .size = Bytes{static_cast<std::int64_t>(64 * (1 + i % 3))}});
    draft.ops.push_back(make_op(LaneKind::Compute, "op"));
    draft.ops[i].takes = draft.ops[i].gives = {{.pool = {0}}};
    draft.ops[i].produces = draft.ops[i].releases = {{i}};
  }
  const StepGraph graph = draft.build();
  for (int step = 0; step < 20; ++step) {
    (void)live.executor.run(graph, step);
    EXPECT_EQ(live.arena.reserved(), Bytes{4096}) << "one page serves them all";
  }
}

TEST(LiveExecutor, CountsThePeakOfBuffersThatLiveAtOnce) {
  // Two buffers overlap, the third is produced once both are back: its issue waits for their credit.
  Draft draft;
  draft.pools = {{.name = "pool", .capacity = 1}};
  draft.buffers = {{.name = "a", .size = Bytes{100}}, {.name = "b", .size = Bytes{50}}, {.name = "c", .size = Bytes{120}}};
  draft.ops = {make_op(LaneKind::Compute, "first"), make_op(LaneKind::Compute, "second")};
  draft.ops[0].takes = draft.ops[1].takes = draft.ops[0].gives = draft.ops[1].gives = {{.pool = {0}}};
  draft.ops[0].produces = draft.ops[0].releases = {{0}, {1}};
  draft.ops[1].produces = draft.ops[1].releases = {{2}};
  Live live;
  const StepRun run = live.executor.run(draft.build(), 0);
  EXPECT_EQ(run.buffers_peak, Bytes{150});
  EXPECT_EQ(run.memory.allocated_peak, Bytes{150});
  EXPECT_EQ(run.pool_peaks, std::vector<std::int64_t>{1});
}

TEST(LiveExecutor, ShowsWhatALaneDoes) {
  std::array<ActivitySlot, kLanes> slots;
  Live live({nullptr, &slots[1], nullptr});
  StepGraph graph;
  Activity seen;
  Op op = make_op(LaneKind::Collective, "gather h.3");
  op.unit = 4;
  op.body = [&](OpContext&) { seen = slots[1].read(); };
  graph.add(op);
  (void)live.executor.run(graph, 6);
  EXPECT_STREQ(seen.op.data(), "gather h.3");
  EXPECT_EQ(seen.unit, 4);
  EXPECT_EQ(seen.step, 6);
  EXPECT_STREQ(slots[1].read().op.data(), "") << "idle afterwards";
}

class FailingLane : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FailingLane, EndsTheStepOnAllLanesAndRethrows) {
  // Every op after the failing one waits for it or for a credit; each lane has more behind.
  Live live;
  Draft draft;
  std::atomic<int> later = 0;
  draft.pools = {{.name = "pool", .capacity = 2}};
  for (std::size_t lane = 0; lane < kLanes; ++lane) draft.ops.push_back(make_op(static_cast<LaneKind>(lane), "first"));
  draft.ops[GetParam()].body = [](OpContext&) { throw PeerLost("rank 1 is gone"); };
  for (std::size_t i = kLanes; i < 12 * kLanes; ++i) {
    Op op = make_op(static_cast<LaneKind>(i % kLanes), "later", {OpId{GetParam()}});
    op.takes = op.gives = {{.pool = {0}}};
    op.produces = op.releases = {{draft.buffers.size()}};
    draft.buffers.push_back({.name = "buffer", .size = Bytes{64}});
    op.body = [&later](OpContext&) { ++later; };
    draft.ops.push_back(op);
  }
  const StepGraph graph = draft.build();
  ASSERT_NO_THROW(verify(graph));
  EXPECT_THROW((void)live.executor.run(graph, 0), PeerLost);
  EXPECT_EQ(later, 0) << "nothing that waits for a failed op runs";
  EXPECT_EQ(live.arena.active(), Bytes{0}) << "all buffers went back";
  EXPECT_THROW((void)live.executor.run(StepGraph{}, 1), InvalidArgument) << "it can't be used again";
}

INSTANTIATE_TEST_SUITE_P(LiveExecutor, FailingLane, ::testing::Range<std::size_t>(0, kLanes));

TEST(LiveExecutor, EndsWhereverABodyOfARandomGraphFails) {
  Numbers numbers(11);
  for (int round = 0; round < 100; ++round) {
    Draft draft = test::random_draft(numbers);
    const std::size_t failing = numbers.below(draft.ops.size());
    std::atomic<bool> ran_after = false;
    for (Op& op : draft.ops) {
      const bool waits = std::ranges::find(op.after, OpId{failing}) != op.after.end();
      op.body = [&ran_after, waits](OpContext&) { ran_after = ran_after || waits; };
    }
    draft.ops[failing].body = [](OpContext&) { throw std::runtime_error("body"); };
    Live live;
    EXPECT_THROW((void)live.executor.run(draft.build(), 0), std::runtime_error) << "round " << round;
    EXPECT_FALSE(ran_after) << "round " << round;
    EXPECT_EQ(live.arena.active(), Bytes{0}) << "round " << round;
  }
}

TEST(LiveExecutor, RethrowsTheFirstOfTwoFailures) {
  std::array<ActivitySlot, kLanes> slots;
  Live live({&slots[0], nullptr, nullptr});
  std::latch both(2);
  StepGraph graph;
  Op first = make_op(LaneKind::Compute, "first");
  first.body = [&](OpContext&) {
    both.arrive_and_wait();
    throw InvalidArgument("the cause");
  };
  Op second = make_op(LaneKind::Collective, "second");
  second.body = [&](OpContext&) {
    both.arrive_and_wait();
    while (slots[0].read().op[0] != '\0') std::this_thread::yield();  // its lane is idle once the first failure has been kept
    throw PeerLost("a consequence");
  };
  graph.add(first);
  graph.add(second);
  EXPECT_THROW((void)live.executor.run(graph, 0), InvalidArgument);
}

TEST(LiveExecutor, EndsTheIssueThatWaitsForCreditsOfAFailedOp) {
  Live live;
  Draft draft;
  draft.pools = {{.name = "pool", .capacity = 1}};
  draft.ops = {make_op(LaneKind::Collective, "gather"), make_op(LaneKind::Compute, "forward", {OpId{0}}),
               make_op(LaneKind::Collective, "next"), make_op(LaneKind::Compute, "last")};
  draft.ops[0].takes = draft.ops[2].takes = draft.ops[1].gives = draft.ops[3].gives = {{.pool = {0}}};
  bool ran = false;
  draft.ops[1].body = [](OpContext&) { throw PeerLost("gone"); };
  draft.ops[2].body = [&ran](OpContext&) { ran = true; };
  ASSERT_NO_THROW(verify(draft.build()));
  EXPECT_THROW((void)live.executor.run(draft.build(), 0), PeerLost);
  EXPECT_FALSE(ran);
}

TEST(LiveExecutor, PassesOnWhatIsNoStandardException) {
  Live live;
  StepGraph graph;
  Op op = make_op(LaneKind::Compute, "op");
  op.body = [](OpContext&) { throw 7; };
  graph.add(op);
  EXPECT_THROW((void)live.executor.run(graph, 0), int);
}

TEST(LiveExecutor, EndsTheStepWhereMemoryRunsOut) {
  Live live;
  Draft draft;
  draft.buffers = {{.name = "small", .size = Bytes{64}}, {.name = "huge", .size = Bytes{std::int64_t{1} << 60}}};
  draft.ops = {make_op(LaneKind::Compute, "first"), make_op(LaneKind::Compute, "second"), make_op(LaneKind::Compute, "third")};
  draft.ops[0].produces = {{0}};
  draft.ops[1].produces = draft.ops[1].releases = {{1}};
  draft.ops[2].releases = {{0}};
  EXPECT_THROW((void)live.executor.run(draft.build(), 0), OutOfBudget);
  EXPECT_EQ(live.arena.active(), Bytes{0});
}

TEST(LiveExecutor, EndsRatherThanHangsOnCreditsThatCanNeverBe) {
  // Such a graph is refused by verify; even so the lanes come to rest before the run ends.
  Live live;
  Draft draft;
  draft.pools = {{.name = "pool", .capacity = 1}};
  draft.ops = {make_op(LaneKind::Compute, "first"), make_op(LaneKind::Compute, "second")};
  draft.ops[1].takes = {{.pool = {0}, .amount = 2}};
  EXPECT_THROW((void)live.executor.run(draft.build(), 0), InvalidArgument);
}

}  // namespace
}  // namespace twinax::step
