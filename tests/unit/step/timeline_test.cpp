#include "twinax/step/timeline.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::make_op;

/// A graph of one op a lane, whose index is the lane's.
StepGraph one_op_a_lane() {
  StepGraph graph;
  for (std::size_t lane = 0; lane < kLanes; ++lane) graph.add(make_op(static_cast<LaneKind>(lane), "op"));
  return graph;
}

Event event_of(LaneKind lane, double begin, double end) {
  return {.op = {static_cast<std::size_t>(lane)}, .step = 0, .issued = {0}, .begin = {begin}, .end = {end}};
}

TimeSplit split_of(const std::vector<Event>& events) {
  return split(one_op_a_lane(), events);
}

void expect_split(const TimeSplit& split, double compute, double exposed, double hidden) {
  EXPECT_EQ(split.compute, Seconds{compute});
  EXPECT_EQ(split.exposed_communication, Seconds{exposed});
  EXPECT_EQ(split.hidden_communication, Seconds{hidden});
}

constexpr auto kCompute = LaneKind::Compute;
constexpr auto kCollective = LaneKind::Collective;

TEST(Split, OfNoEventsIsNothing) {
  expect_split(split_of({}), 0, 0, 0);
}

TEST(Split, OfComputingAloneIsItsTime) {
  expect_split(split_of({event_of(kCompute, 1, 3), event_of(kCompute, 4, 4.5)}), 2.5, 0, 0);
}

TEST(Split, OfCommunicationAloneIsAllExposed) {
  expect_split(split_of({event_of(kCollective, 1, 3), event_of(kCollective, 3, 4)}), 0, 3, 0);
}

TEST(Split, OfOneAfterTheOtherHidesNothing) {
  expect_split(split_of({event_of(kCollective, 0, 2), event_of(kCompute, 2, 5)}), 3, 2, 0);
}

TEST(Split, OfCommunicationWithinComputingHidesItAll) {
  expect_split(split_of({event_of(kCompute, 0, 8), event_of(kCollective, 2, 5)}), 8, 0, 3);
}

TEST(Split, OfComputingWithinCommunicationHidesThatPart) {
  expect_split(split_of({event_of(kCollective, 0, 8), event_of(kCompute, 2, 5)}), 3, 5, 3);
}

TEST(Split, OfAPartialOverlapCutsAtItsEdges) {
  // compute [0, 4), collective [3, 7): one second hidden, three exposed.
  expect_split(split_of({event_of(kCompute, 0, 4), event_of(kCollective, 3, 7)}), 4, 3, 1);
}

TEST(Split, OfOneCommunicationOverTwoComputationsExposesTheGap) {
  expect_split(split_of({event_of(kCompute, 0, 2), event_of(kCompute, 3, 6), event_of(kCollective, 1, 5)}), 5, 1, 3);
}

TEST(Split, LeavesTheServiceLaneOut) {
  expect_split(split_of({event_of(LaneKind::Service, 0, 100), event_of(kCompute, 1, 2), event_of(kCollective, 2, 4)}), 1, 2, 0);
}

TEST(Split, CountsEachLaneByItself) {
  // compute [2, 5); collective [0, 3) and [6, 7); service [4, 9): the lanes' seconds, not their union's.
  const TimeSplit split =
      split_of({event_of(kCompute, 2, 5), event_of(kCollective, 0, 3), event_of(kCollective, 6, 7), event_of(LaneKind::Service, 4, 9)});
  const auto lane = [&](LaneKind kind) { return split.lanes[static_cast<std::size_t>(kind)]; };
  EXPECT_EQ(lane(kCollective).exposed, Seconds{3});
  EXPECT_EQ(lane(kCollective).hidden, Seconds{1});
  EXPECT_EQ(lane(LaneKind::Service).exposed, Seconds{4});
  EXPECT_EQ(lane(LaneKind::Service).hidden, Seconds{1});
  EXPECT_EQ(lane(kCompute).exposed + lane(kCompute).hidden, Seconds{0});
}

TEST(Split, LeavesEventsOfNoTimeOut) {
  expect_split(split_of({event_of(kCompute, 1, 1), event_of(kCollective, 0, 2), event_of(kCompute, 2, 2)}), 0, 2, 0);
}

TEST(Split, CountsFromWhereverTheClockIs) {
  expect_split(split_of({event_of(kCompute, 1000, 1004), event_of(kCollective, 1003, 1007)}), 4, 3, 1);
}

TEST(Split, IsTheSameInAnyOrderOfEvents) {
  std::vector<Event> events{event_of(kCompute, 0, 2), event_of(kCompute, 3, 6), event_of(kCollective, 1, 5), event_of(kCollective, 5, 7)};
  std::ranges::reverse(events);
  expect_split(split_of(events), 5, 2, 4);
}

TEST(Split, OfRandomWholeSecondsIsTheCountOfSeconds) {
  test::Numbers numbers(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Event> events;
    std::array<std::array<bool, 64>, kLanes> busy{};  // by lane and second: the slow reference
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::int64_t at = numbers.between(0, 5); at < 60;) {
        const std::int64_t end = std::min<std::int64_t>(64, at + numbers.between(0, 6));
        events.push_back(event_of(static_cast<LaneKind>(lane), static_cast<double>(at), static_cast<double>(end)));
        for (; at < end; ++at) busy[lane][static_cast<std::size_t>(at)] = true;
        at += numbers.between(0, 5) + (events.back().end == events.back().begin ? 1 : 0);
      }
    }
    double compute = 0, exposed = 0, hidden = 0;
    for (std::size_t second = 0; second < 64; ++second) {
      const bool computes = busy[static_cast<std::size_t>(kCompute)][second];
      const bool communicates = busy[static_cast<std::size_t>(kCollective)][second];
      compute += computes ? 1 : 0;
      exposed += communicates && !computes ? 1 : 0;
      hidden += communicates && computes ? 1 : 0;
    }
    const TimeSplit split = split_of(events);
    expect_split(split, compute, exposed, hidden);
    for (const LaneKind kind : {kCollective, LaneKind::Service}) {
      const auto lane = static_cast<std::size_t>(kind);
      double lane_exposed = 0, lane_hidden = 0;
      for (std::size_t second = 0; second < 64; ++second) {
        if (busy[lane][second]) (busy[static_cast<std::size_t>(kCompute)][second] ? lane_hidden : lane_exposed) += 1;
      }
      EXPECT_EQ(split.lanes[lane].exposed, Seconds{lane_exposed});
      EXPECT_EQ(split.lanes[lane].hidden, Seconds{lane_hidden});
    }
  }
}

TEST(TakenAt, IsTheIssueOfAnOpUnlessItsLaneWaitsForItsCredits) {
  StepGraph graph;
  const PoolId host = graph.add_pool({.name = "host", .capacity = 1});
  const PoolId lane = graph.add_pool({.name = "lane", .capacity = 1, .side = WaitSide::Lane});
  for (const PoolId pool : {host, lane}) {
    Op op = make_op(kCollective, "gather");
    op.takes = {{.pool = pool}};
    graph.add(std::move(op));
  }
  EXPECT_EQ(taken_at(graph, {.op = {0}, .issued = {1}, .begin = {2}, .end = {3}}), Seconds{1});
  EXPECT_EQ(taken_at(graph, {.op = {1}, .issued = {1}, .begin = {2}, .end = {3}}), Seconds{2});
}

TEST(StepRun, LastsFromItsBeginningToItsEnd) {
  StepRun run;
  run.begin = {2};
  run.end = {7.5};
  EXPECT_EQ(run.duration(), Seconds{5.5});
}

}  // namespace
}  // namespace twinax::step
