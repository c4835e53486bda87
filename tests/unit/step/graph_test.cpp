#include "twinax/step/graph.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::make_op;
using ::testing::HasSubstr;

/// The message of the InvalidArgument that adding the op ends with.
std::string refusal_of(StepGraph& graph, Op op) {
  try {
    graph.add(std::move(op));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(StepGraph, IsEmptyAtFirst) {
  const StepGraph graph;
  EXPECT_TRUE(graph.ops().empty());
  EXPECT_TRUE(graph.pools().empty());
  EXPECT_TRUE(graph.buffers().empty());
}

TEST(StepGraph, KeepsOpsInTheOrderInWhichTheyWereAdded) {
  StepGraph graph;
  for (std::size_t i = 0; i < 5; ++i) {
    const OpId id = graph.add(make_op(i % 2 == 0 ? LaneKind::Compute : LaneKind::Collective, "op " + std::to_string(i)));
    EXPECT_EQ(id, OpId{i});
  }
  ASSERT_EQ(graph.ops().size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(graph[OpId{i}].name, "op " + std::to_string(i));
}

TEST(StepGraph, KeepsAllThatAnOpSays) {
  StepGraph graph;
  const PoolId pool = graph.add_pool({.name = "gathered units", .capacity = 2});
  const BufferId buffer = graph.add_buffer({.name = "parameters h.0", .size = Bytes{64}});
  const OpId first = graph.add(make_op(LaneKind::Service, "first"));
  Op op{.kind = OpKind::Reduce, .lane = LaneKind::Collective, .name = "reduce h.0", .unit = 3, .after = {first}};
  op.bytes = Bytes{48};
  op.flops = Flops{7};
  op.takes = {{.pool = pool, .amount = 2}};
  op.gives = {{.pool = pool, .amount = 1}};
  op.produces = {buffer};
  op.uses = {buffer};
  op.releases = {buffer};
  const Op& kept = graph[graph.add(op)];
  EXPECT_EQ(kept.kind, OpKind::Reduce);
  EXPECT_EQ(kept.lane, LaneKind::Collective);
  EXPECT_EQ(kept.unit, 3);
  EXPECT_EQ(kept.after, std::vector{first});
  EXPECT_EQ(kept.bytes, Bytes{48});
  EXPECT_EQ(kept.flops, Flops{7});
  EXPECT_EQ(kept.takes.at(0).amount, 2);
  EXPECT_EQ(kept.gives.at(0).amount, 1);
  EXPECT_EQ(kept.produces, std::vector{buffer});
  EXPECT_EQ(kept.uses, std::vector{buffer});
  EXPECT_EQ(kept.releases, std::vector{buffer});
  EXPECT_EQ(graph.pools()[pool.index].name, "gathered units");
  EXPECT_EQ(graph.pools()[pool.index].capacity, 2);
  EXPECT_EQ(graph.buffers()[buffer.index].size, Bytes{64});
}

TEST(StepGraph, NumbersPoolsAndBuffersApart) {
  StepGraph graph;
  EXPECT_EQ(graph.add_pool({.name = "a", .capacity = 1}), PoolId{0});
  EXPECT_EQ(graph.add_buffer({.name = "b", .size = Bytes{1}}), BufferId{0});
  EXPECT_EQ(graph.add_pool({.name = "c", .capacity = 1}), PoolId{1});
  EXPECT_EQ(graph.add_buffer({.name = "d", .size = Bytes{1}}), BufferId{1});
}

TEST(StepGraph, RefusesToWaitForALaterOp) {
  StepGraph graph;
  graph.add(make_op(LaneKind::Compute, "first"));
  EXPECT_EQ(refusal_of(graph, make_op(LaneKind::Compute, "second", {OpId{2}})), "the op \"second\" names to wait for op 2 of 1");
}

TEST(StepGraph, RefusesToWaitForItself) {
  StepGraph graph;
  EXPECT_THAT(refusal_of(graph, make_op(LaneKind::Compute, "alone", {OpId{0}})), HasSubstr("\"alone\" names to wait for op 0 of 0"));
}

TEST(StepGraph, RefusesAPoolThatDoesNotExist) {
  StepGraph graph;
  graph.add_pool({.name = "only", .capacity = 1});
  Op takes = make_op(LaneKind::Compute, "taker");
  takes.takes = {{.pool = {1}}};
  EXPECT_EQ(refusal_of(graph, takes), "the op \"taker\" names pool 1 of 1");
  Op gives = make_op(LaneKind::Compute, "giver");
  gives.gives = {{.pool = {4}}};
  EXPECT_EQ(refusal_of(graph, gives), "the op \"giver\" names pool 4 of 1");
}

TEST(StepGraph, RefusesABufferThatDoesNotExist) {
  StepGraph graph;
  for (const auto member : {&Op::produces, &Op::uses, &Op::releases}) {
    Op op = make_op(LaneKind::Compute, "op");
    op.*member = {BufferId{0}};
    EXPECT_EQ(refusal_of(graph, op), "the op \"op\" names buffer 0 of 0");
  }
}

TEST(StepGraph, IsUnchangedByAnOpThatItRefuses) {
  StepGraph graph;
  graph.add(make_op(LaneKind::Compute, "first"));
  (void)refusal_of(graph, make_op(LaneKind::Compute, "bad", {OpId{9}}));
  ASSERT_EQ(graph.ops().size(), 1U);
  EXPECT_EQ(graph.add(make_op(LaneKind::Compute, "next")), OpId{1});
}

}  // namespace
}  // namespace twinax::step
