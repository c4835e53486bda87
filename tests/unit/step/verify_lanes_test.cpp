#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/step/verify.hpp"
#include "twinax/step/virtual_executor.hpp"

#include "unit/step/random_graph.hpp"
#include "unit/step/table_cost.hpp"

namespace twinax::step {
namespace {

using test::Draft;
using test::fault_of;
using test::make_op;
using test::Numbers;
using test::TableCost;
using ::testing::HasSubstr;

/// Units that are gathered and used, within a limiter.
Draft units(std::size_t count, const PoolSpec& pool) {
  Draft draft;
  draft.pools = {pool};
  for (std::size_t u = 0; u < count; ++u) {
    const OpId by{draft.ops.size()};
    draft.ops.push_back(make_op(LaneKind::Collective, "gather " + std::to_string(u)));
    draft.ops.back().takes = {{.pool = {0}}};
    draft.ops.push_back(make_op(LaneKind::Compute, "forward " + std::to_string(u), {by}));
    draft.ops.back().gives = {{.pool = {0}}};
  }
  return draft;
}

TEST(StepGraph, OrdersAWindowThatLanesWaitFor) {
  const StepGraph graph = units(4, {.name = "pool", .capacity = 2, .side = WaitSide::Lane}).build();
  EXPECT_TRUE(graph[{0}].after_credits.empty());
  EXPECT_TRUE(graph[{2}].after_credits.empty());
  EXPECT_EQ(graph[{4}].after_credits, std::vector{OpId{1}}) << "gather 2 waits for forward 0";
  EXPECT_EQ(graph[{6}].after_credits, std::vector{OpId{3}}) << "gather 3 waits for forward 1";
  EXPECT_EQ(fault_of(graph), "");
}

TEST(StepGraph, OrdersBlocksThatLanesWaitFor) {
  const StepGraph graph = units(5, {.name = "pool", .capacity = 2, .refill = Refill::All, .side = WaitSide::Lane}).build();
  EXPECT_TRUE(graph[{2}].after_credits.empty());
  EXPECT_EQ(graph[{4}].after_credits, std::vector{OpId{3}}) << "gather 2 waits for forward 1, the last of its block";
  EXPECT_EQ(graph[{6}].after_credits, std::vector{OpId{3}});
  EXPECT_EQ(graph[{8}].after_credits, std::vector{OpId{7}});
  EXPECT_EQ(fault_of(graph), "");
}

TEST(StepGraph, OrdersNothingWhereTheHostWaits) {
  const StepGraph graph = units(4, {.name = "pool", .capacity = 2}).build();
  for (const Op& op : graph.ops()) EXPECT_TRUE(op.after_credits.empty());
}

TEST(Verify, RefusesABlockThatWaitsForWhatIsIssuedLater) {
  // Gather 2 is issued before forward 1: a window of 2 has room for it by then, a block of 2 waits for forward 1.
  Draft draft = units(3, {.name = "pool", .capacity = 2});
  std::swap(draft.ops[3], draft.ops[4]);
  draft.ops[4].after = {OpId{2}};
  EXPECT_EQ(fault_of(draft.build()), "");
  draft.pools[0].refill = Refill::All;
  EXPECT_EQ(fault_of(draft.build()),
            "this schedule can't be run: \"gather 2\" waits for all credits of \"pool\", some of which only ops issued after it give back");
}

TEST(Verify, RefusesCreditsThatMayComeBackBeforeALaneHasTakenThem) {
  Draft draft = units(1, {.name = "pool", .capacity = 2, .side = WaitSide::Lane});
  draft.ops[1].after.clear();
  EXPECT_EQ(fault_of(draft.build()), "this schedule can't be run: \"forward 0\" may give credits of \"pool\" before a lane has taken them");
}

/// Two buffers of one slot, one after the other.
StepGraph slots(bool is_ordered, std::int64_t size) {
  StepGraph graph;
  const SlotId slot = graph.add_slot({.name = "slot", .size = Bytes{64}});
  for (int i = 0; i < 2; ++i) {
    const BufferId buffer = graph.add_buffer({.name = "buffer " + std::to_string(i), .size = Bytes{size}, .slot = slot});
    Op op = make_op(LaneKind::Compute, "op");
    op.produces = {buffer};
    if (is_ordered) op.releases = {buffer};
    graph.add(op);
  }
  for (std::size_t i = 0; !is_ordered && i < 2; ++i) {
    Op op = make_op(LaneKind::Compute, "release");
    op.releases = {{i}};
    graph.add(op);
  }
  return graph;
}

TEST(Verify, RefusesTwoBuffersInASlotAtOnce) {
  EXPECT_EQ(fault_of(slots(true, 64)), "");
  EXPECT_EQ(fault_of(slots(false, 64)),
            "this schedule can't be run: the buffer \"buffer 1\" is produced in \"slot\" while \"buffer 0\" may still be there");
  EXPECT_THAT(fault_of(slots(true, 65)), HasSubstr("the buffer \"buffer 0\" of 65 bytes is in \"slot\", which has 64"));
}

TEST(RunVirtual, ExposesTheFirstGatherOfEachBlock) {
  // Gathers and uses of 1: gather 2 waits for use 1. A window exposes the first gather alone, a block of two every second one.
  const TableCost cost({1, 1, 1, 1, 1, 1, 1, 1});
  for (const WaitSide side : {WaitSide::Host, WaitSide::Lane}) {
    EXPECT_EQ(run_virtual(units(4, {.name = "pool", .capacity = 2, .side = side}).build(), cost, {}).duration(), Seconds{5});
    const StepRun blocks = run_virtual(units(4, {.name = "pool", .capacity = 2, .refill = Refill::All, .side = side}).build(), cost, {});
    EXPECT_EQ(blocks.duration(), Seconds{6});
    EXPECT_EQ(blocks.events[4].begin, Seconds{3});
    EXPECT_EQ(blocks.pool_peaks, std::vector<std::int64_t>{2});
  }
}

TEST(RunVirtual, KeepsEveryPolicysBoundInRandomGraphs) {
  Numbers numbers(31);
  for (int round = 0; round < 300; ++round) {
    Draft draft = test::random_draft(numbers);
    test::add_random_policies(draft, numbers);
    const StepGraph graph = draft.build();
    ASSERT_EQ(fault_of(graph), "") << round;
    std::vector<double> seconds(graph.ops().size());
    for (double& time : seconds) time = 0.125 * static_cast<double>(numbers.below(16));
    const StepRun run = run_virtual(graph, TableCost(seconds), {});
    for (std::size_t p = 0; p < graph.pools().size(); ++p) {
      if (graph.pools()[p].capacity == 0) continue;
      ASSERT_LE(run.pool_peaks[p], graph.pools()[p].capacity) << round;
    }
    const StepRun free = run_virtual(graph, TableCost(seconds), {.unlimited_credits = true});
    ASSERT_LE(free.duration(), run.duration()) << round;
  }
}

}  // namespace
}  // namespace twinax::step
