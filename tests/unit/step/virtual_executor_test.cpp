#include "twinax/step/virtual_executor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/step/random_graph.hpp"
#include "unit/step/table_cost.hpp"

namespace twinax::step {
namespace {

using test::make_op;
using test::TableCost;

constexpr auto kCompute = LaneKind::Compute;
constexpr auto kCollective = LaneKind::Collective;
constexpr auto kService = LaneKind::Service;

void expect_event(const Event& event, double issued, double begin, double end) {
  EXPECT_EQ(event.issued, Seconds{issued}) << "op " << event.op.index;
  EXPECT_EQ(event.begin, Seconds{begin}) << "op " << event.op.index;
  EXPECT_EQ(event.end, Seconds{end}) << "op " << event.op.index;
}

TEST(RunVirtual, OfNoOpsTakesNoTime) {
  const StepRun run = run_virtual(StepGraph{}, TableCost({}), {});
  EXPECT_TRUE(run.events.empty());
  EXPECT_EQ(run.duration(), Seconds{0});
  EXPECT_EQ(run.buffers_peak, Bytes{0});
}

TEST(RunVirtual, AddsUpALane) {
  StepGraph graph;
  for (int i = 0; i < 3; ++i) graph.add(make_op(kCompute, "op"));
  const StepRun run = run_virtual(graph, TableCost({1, 2, 4.5}), {});
  expect_event(run.events[0], 0, 0, 1);
  expect_event(run.events[1], 0, 1, 3);
  expect_event(run.events[2], 0, 3, 7.5);
  EXPECT_EQ(run.duration(), Seconds{7.5});
}

TEST(RunVirtual, AddsUpAChainOverAllLanes) {
  StepGraph graph;
  graph.add(make_op(kCompute, "a"));
  graph.add(make_op(kCollective, "b", {OpId{0}}));
  graph.add(make_op(kService, "c", {OpId{1}}));
  graph.add(make_op(kCompute, "d", {OpId{2}}));
  EXPECT_EQ(run_virtual(graph, TableCost({1, 2, 4, 8}), {}).duration(), Seconds{15});
}

TEST(RunVirtual, RunsUnorderedOpsOfTwoLanesAtOnce) {
  StepGraph graph;
  graph.add(make_op(kCompute, "a"));
  graph.add(make_op(kCollective, "b"));
  EXPECT_EQ(run_virtual(graph, TableCost({3, 5}), {}).duration(), Seconds{5});
}

TEST(RunVirtual, JoinsAForkAtItsLastBranch) {
  StepGraph graph;
  graph.add(make_op(kCompute, "fork"));
  graph.add(make_op(kCollective, "short", {OpId{0}}));
  graph.add(make_op(kService, "long", {OpId{0}}));
  graph.add(make_op(kCompute, "join", {OpId{1}, OpId{2}}));
  const StepRun run = run_virtual(graph, TableCost({1, 2, 5, 0.5}), {});
  expect_event(run.events[1], 0, 1, 3);
  expect_event(run.events[2], 0, 1, 6);
  expect_event(run.events[3], 0, 6, 6.5);
  EXPECT_EQ(run.duration(), Seconds{6.5});
}

TEST(RunVirtual, EndsWithTheLastOpNotWithTheLastInProgramOrder) {
  StepGraph graph;
  graph.add(make_op(kCollective, "long"));
  graph.add(make_op(kCompute, "short"));
  EXPECT_EQ(run_virtual(graph, TableCost({9, 1}), {}).end, Seconds{9});
}

/// Units that are gathered (64 bytes each), used once and released, within a window of `limit` credits.
StepGraph window(std::size_t units, std::int64_t limit) {
  StepGraph graph;
  const PoolId pool = graph.add_pool({.name = "gathered units", .capacity = limit});
  for (std::size_t u = 0; u < units; ++u) {
    const BufferId buffer = graph.add_buffer({.name = "parameters", .size = Bytes{64}});
    Op gather = make_op(kCollective, "gather " + std::to_string(u));
    gather.takes = {{.pool = pool}};
    gather.produces = {buffer};
    const OpId by = graph.add(gather);
    Op forward = make_op(kCompute, "forward " + std::to_string(u), {by});
    forward.gives = {{.pool = pool}};
    forward.releases = {buffer};
    graph.add(forward);
  }
  return graph;
}

// Gathers take 4, 1, 1, 4 and forwards 1, 6, 1, 1, in turn.
const TableCost& uneven() {
  static const TableCost cost({4, 1, 1, 6, 1, 1, 4, 1});
  return cost;
}

TEST(RunVirtual, HidesGathersBehindLongerComputing) {
  // Gathers of 2, forwards of 3: the first gather, then computing without a gap.
  EXPECT_EQ(run_virtual(window(4, 0), TableCost({2, 3, 2, 3, 2, 3, 2, 3}), {}).duration(), Seconds{2 + 4 * 3});
}

TEST(RunVirtual, HidesComputingBehindLongerGathers) {
  EXPECT_EQ(run_virtual(window(4, 0), TableCost({3, 2, 3, 2, 3, 2, 3, 2}), {}).duration(), Seconds{4 * 3 + 2});
}

TEST(RunVirtual, SerializesAWindowOfOne) {
  const StepRun run = run_virtual(window(4, 1), uneven(), {});
  EXPECT_EQ(run.duration(), Seconds{4 + 1 + 1 + 6 + 1 + 1 + 4 + 1});
  EXPECT_EQ(run.pool_peaks, std::vector<std::int64_t>{1});
  EXPECT_EQ(run.buffers_peak, Bytes{64});
}

TEST(RunVirtual, RunsOneAheadInAWindowOfTwo) {
  const StepRun run = run_virtual(window(4, 2), uneven(), {});
  expect_event(run.events[0], 0, 0, 4);     // gather 0
  expect_event(run.events[1], 0, 4, 5);     // forward 0
  expect_event(run.events[2], 0, 4, 5);     // gather 1: the second credit
  expect_event(run.events[3], 0, 5, 11);    // forward 1
  expect_event(run.events[4], 5, 5, 6);     // gather 2 waits for forward 0
  expect_event(run.events[5], 5, 11, 12);   // forward 2
  expect_event(run.events[6], 11, 11, 15);  // gather 3 waits for forward 1
  expect_event(run.events[7], 11, 15, 16);  // forward 3
  EXPECT_EQ(run.duration(), Seconds{16});
  EXPECT_EQ(run.pool_peaks, std::vector<std::int64_t>{2});
  EXPECT_EQ(run.buffers_peak, Bytes{2 * 64});
}

TEST(RunVirtual, RunsAheadWithoutBoundAndEatsMemoryWhenUnlimited) {
  // Gathers 0-4, 4-5, 5-6, 6-10; forwards 4-5, 5-11, 11-12, 12-13.
  const StepRun run = run_virtual(window(4, 0), uneven(), {});
  EXPECT_EQ(run.duration(), Seconds{13});
  EXPECT_EQ(run.pool_peaks, std::vector<std::int64_t>{4}) << "counted though unlimited";
  EXPECT_EQ(run.buffers_peak, Bytes{4 * 64}) << "memory is taken at issue";
}

TEST(RunVirtual, IgnoresTheLimitForABound) {
  const StepRun run = run_virtual(window(4, 1), uneven(), {.unlimited_credits = true});
  EXPECT_EQ(run.duration(), Seconds{13});
  EXPECT_EQ(run.pool_peaks, std::vector<std::int64_t>{4});
}

TEST(RunVirtual, TakesTimeToIssue) {
  StepGraph graph;
  for (int i = 0; i < 3; ++i) graph.add(make_op(kCompute, "op"));
  const StepRun run = run_virtual(graph, TableCost({0.25, 0.25, 2}), {.issue = {0.5}});
  expect_event(run.events[0], 0.5, 0.5, 0.75);
  expect_event(run.events[1], 1, 1, 1.25);
  expect_event(run.events[2], 1.5, 1.5, 3.5);
}

TEST(RunVirtual, IssuesNothingWhileItWaitsForCredits) {
  // The service op could run at once, but stands behind a gather that waits.
  StepGraph graph = window(2, 1);
  graph.add(make_op(kService, "late"));
  expect_event(run_virtual(graph, TableCost({1, 2, 1, 2, 1}), {}).events[4], 3, 3, 4);
}

TEST(RunVirtual, RefusesAScheduleThatWouldHang) {
  StepGraph graph;
  const PoolId pool = graph.add_pool({.name = "pool", .capacity = 1});
  for (int i = 0; i < 2; ++i) {
    Op op = make_op(kCollective, "gather");
    op.takes = {{.pool = pool}};
    graph.add(op);
  }
  EXPECT_THROW((void)run_virtual(graph, TableCost({1, 1}), {}), InvalidArgument);
}

/// What the slow reference finds.
struct SlowRun {
  std::vector<Event> events;
  std::vector<std::int64_t> pool_peaks;
};

/// Credits of a pool that are out at a moment, by all ops so far.
std::int64_t out_at(const StepGraph& graph, const SlowRun& run, std::size_t pool, Seconds at) {
  std::int64_t out = 0;
  for (const Event& event : run.events) {
    for (const CreditUse& use : graph[event.op].takes) out += use.pool.index == pool ? use.amount : 0;
    if (event.end > at) continue;
    for (const CreditUse& use : graph[event.op].gives) out -= use.pool.index == pool ? use.amount : 0;
  }
  return out;
}

/// The slow reference: for each take the first of all moments, given what came before, at which it fits.
SlowRun run_slowly(const StepGraph& graph, const Cost& cost) {
  SlowRun run{.events = {}, .pool_peaks = std::vector<std::int64_t>(graph.pools().size(), 0)};
  Seconds issued{0};
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    std::vector<std::int64_t> mine(graph.pools().size(), 0);
    for (const CreditUse& use : op.takes) {
      const std::size_t p = use.pool.index;
      mine[p] += use.amount;
      std::vector<Seconds> moments{issued};
      for (const Event& event : run.events) moments.push_back(std::max(issued, event.end));
      std::ranges::sort(moments);
      issued = *std::ranges::find_if(moments, [&](Seconds at) {
        return graph.pools()[p].capacity == 0 || out_at(graph, run, p, at) + mine[p] <= graph.pools()[p].capacity;
      });
      run.pool_peaks[p] = std::max(run.pool_peaks[p], out_at(graph, run, p, issued) + mine[p]);
    }
    Event event{.op = {i}, .step = 0, .issued = issued, .begin = issued, .end = {0}};
    for (const Event& earlier : run.events) {
      const bool is_waited_for = std::ranges::find(op.after, earlier.op) != op.after.end() || graph[earlier.op].lane == op.lane;
      if (is_waited_for) event.begin = std::max(event.begin, earlier.end);
    }
    event.end = event.begin + cost.seconds(graph, {i});
    run.events.push_back(event);
  }
  return run;
}

TEST(RunVirtual, OfRandomGraphsIsWhatTheSlowReferenceSays) {
  test::Numbers numbers(6);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = test::random_draft(numbers).build();
    std::vector<double> seconds(graph.ops().size());
    for (double& time : seconds) time = 0.125 * static_cast<double>(numbers.below(16));
    const TableCost cost(seconds);
    const StepRun run = run_virtual(graph, cost, {});
    const SlowRun expected = run_slowly(graph, cost);
    ASSERT_EQ(run.events.size(), expected.events.size());
    for (std::size_t i = 0; i < expected.events.size(); ++i) {
      ASSERT_EQ(run.events[i].op, OpId{i});
      ASSERT_EQ(run.events[i].issued, expected.events[i].issued) << "round " << round << " op " << i;
      ASSERT_EQ(run.events[i].begin, expected.events[i].begin) << "round " << round << " op " << i;
      ASSERT_EQ(run.events[i].end, expected.events[i].end) << "round " << round << " op " << i;
    }
    for (std::size_t p = 0; p < graph.pools().size(); ++p) {
      EXPECT_EQ(run.pool_peaks[p], expected.pool_peaks[p]) << "round " << round;
      if (graph.pools()[p].capacity != 0) {
        EXPECT_LE(run.pool_peaks[p], graph.pools()[p].capacity);
      }
    }
  }
}

TEST(RunVirtual, IsNeverSlowerWithoutLimits) {
  test::Numbers numbers(7);
  for (int round = 0; round < 300; ++round) {
    const StepGraph graph = test::random_draft(numbers).build();
    std::vector<double> seconds(graph.ops().size());
    for (double& time : seconds) time = static_cast<double>(numbers.below(100));
    const TableCost cost(seconds);
    EXPECT_LE(run_virtual(graph, cost, {.unlimited_credits = true}).end, run_virtual(graph, cost, {}).end) << "round " << round;
  }
}

TEST(RunVirtual, GivesTheSameNumbersEachTime) {
  test::Numbers numbers(8);
  const StepGraph graph = test::random_draft(numbers, 100).build();
  std::vector<double> seconds(graph.ops().size());
  for (double& time : seconds) time = 1.0 / static_cast<double>(1 + numbers.below(1000));
  const StepRun a = run_virtual(graph, TableCost(seconds), {.issue = {1e-6}});
  const StepRun b = run_virtual(graph, TableCost(seconds), {.issue = {1e-6}});
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    expect_event(a.events[i], b.events[i].issued.value, b.events[i].begin.value, b.events[i].end.value);
  }
  EXPECT_EQ(a.pool_peaks, b.pool_peaks);
  EXPECT_EQ(a.buffers_peak, b.buffers_peak);
}

}  // namespace
}  // namespace twinax::step
