#include "twinax/fsdp/build_step.hpp"

#include <map>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/step/verify.hpp"
#include "twinax/step/virtual_executor.hpp"

namespace twinax::fsdp {
namespace {

StepPlan gpt_plan(int blocks, int ranks, std::int64_t limit, std::int64_t prefetch, std::int64_t micro_batches = 1) {
  StepPlan plan;
  plan.unit_names = {"root"};
  plan.layouts = {shard_layout(1000, ranks)};
  plan.stages = {{"embed", 0}};
  for (int b = 0; b < blocks; ++b) {
    plan.unit_names.push_back("h." + std::to_string(b));
    plan.layouts.push_back(shard_layout(4000 + b, ranks));
    plan.stages.push_back({plan.unit_names.back(), b + 1});
  }
  plan.stages.push_back({"head", 0});
  plan.forward_flops.assign(plan.stages.size(), Flops{1});
  plan.backward_flops.assign(plan.stages.size(), Flops{2});
  plan.micro_batches = micro_batches;
  plan.ranks = ranks;
  plan.limit = limit;
  plan.prefetch = prefetch;
  return plan;
}

/// Every op takes a time drawn from its index.
class DrawnCost final : public step::Cost {
 public:
  explicit DrawnCost(std::uint64_t seed) : random_(seed, Draw::Test) {}
  [[nodiscard]] Seconds seconds(const step::StepGraph& /*graph*/, step::OpId op) const override { return {random_.uniform(op.index)}; }

 private:
  Philox random_;
};

Bytes received(const BuiltStep& built, step::OpKind kind) {
  Bytes sum{0};
  for (const step::Op& op : built.graph.ops()) {
    if (op.kind == kind) sum += op.bytes;
  }
  return sum;
}

class EverySchedule : public ::testing::TestWithParam<std::tuple<int, std::int64_t, std::int64_t, std::int64_t>> {};

TEST_P(EverySchedule, IsValidAndKeepsItsBoundInAnyTiming) {
  const auto [blocks, limit, prefetch, micro_batches] = GetParam();
  const BuiltStep built = build_training_step(gpt_plan(blocks, 3, limit, prefetch, micro_batches), nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const step::StepRun run = step::run_virtual(built.graph, DrawnCost(seed), {});
    if (limit == 0) continue;
    EXPECT_LE(run.pool_peaks[built.gathered->index], limit);
    EXPECT_LE(run.pool_peaks[built.reductions->index], limit);
  }
  ASSERT_NO_THROW(step::verify(build_evaluation_step(gpt_plan(blocks, 3, limit, prefetch), nullptr).graph));
}

INSTANTIATE_TEST_SUITE_P(BuildStep, EverySchedule,
                         ::testing::Combine(::testing::Values(1, 2, 5), ::testing::Values(0, 1, 2, 3), ::testing::Values(0, 1, 2, 3),
                                            ::testing::Values(1, 3)));

TEST(BuildStep, MovesTheBytesOfTheClosedForm) {
  // Two gathers and a reduction of every block, one gather of the last; one gather and one reduction of the root; (W - 1) / W of each.
  const StepPlan plan = gpt_plan(4, 4, 2, 1);
  std::int64_t blocks = 0;
  for (std::size_t u = 1; u < plan.layouts.size(); ++u) blocks += plan.layouts[u].padded;
  const std::int64_t root = plan.layouts[0].padded;
  const BuiltStep built = build_training_step(plan, nullptr);
  EXPECT_EQ(received(built, step::OpKind::Gather), Bytes{4 * (2 * blocks - plan.layouts.back().padded + root) * 3 / 4});
  EXPECT_EQ(received(built, step::OpKind::Reduce), Bytes{4 * (blocks + root) * 3 / 4});
}

TEST(BuildStep, OfKeptUnitsMovesEachTwiceHoweverManyMicroBatchesThereAre) {
  StepPlan plan = gpt_plan(4, 4, 2, 1);
  plan.strategy = Strategy::Keep;
  std::int64_t model = 0;
  for (const ShardLayout& layout : plan.layouts) model += layout.padded;
  const BuiltStep built = build_training_step(plan, nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  EXPECT_EQ(received(built, step::OpKind::Gather), Bytes{4 * model * 3 / 4});
  EXPECT_EQ(received(built, step::OpKind::Reduce), Bytes{4 * model * 3 / 4});
  plan.micro_batches = 3;
  EXPECT_EQ(received(build_training_step(plan, nullptr), step::OpKind::Gather), Bytes{4 * model * 3 / 4});
}

TEST(BuildStep, OfKeptUnitsLimitsReductionsAlone) {
  StepPlan plan = gpt_plan(5, 2, 2, 1);
  plan.strategy = Strategy::Keep;
  const BuiltStep built = build_training_step(plan, nullptr);
  const step::StepRun run = step::run_virtual(built.graph, DrawnCost(1), {});
  EXPECT_EQ(run.pool_peaks[built.gathered->index], 5);
  EXPECT_LE(run.pool_peaks[built.reductions->index], 2);
}

TEST(BuildStep, OfHybridSumsShardsBetweenNodesOnceAStep) {
  StepPlan plan = gpt_plan(2, 2, 2, 1, 2);
  plan.ranks = 6;
  plan.ranks_per_node = 2;
  plan.strategy = Strategy::Hybrid;
  const BuiltStep built = build_training_step(plan, nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  std::string order;
  for (const step::Op& op : built.graph.ops()) {
    if (op.kind == step::OpKind::Reduce) order += op.name + ", ";
    // Of a shard over 3 nodes: the others' two parts of this rank's third, then the others' thirds.
    if (op.name == "reduce h.0 between nodes") {
      EXPECT_EQ(op.bytes, Bytes{4} * (2 * 2 * ((plan.layouts[1].shard + 2) / 3)));
    }
  }
  EXPECT_EQ(order,
            "reduce h.1, reduce h.0, reduce h.1, reduce h.1 between nodes, reduce h.0, reduce h.0 between nodes, reduce root, reduce root "
            "between nodes, ");
}

TEST(BuildStep, OfHybridRefusesRanksThatAreNoWholeNumberOfNodes) {
  StepPlan plan = gpt_plan(2, 2, 2, 1);
  plan.ranks = 5;
  plan.ranks_per_node = 2;
  plan.strategy = Strategy::Hybrid;
  EXPECT_THROW((void)build_training_step(plan, nullptr), InvalidArgument);
}

TEST(BuildStep, HalvesTheBytesWithBf16OnTheWire) {
  StepPlan plan = gpt_plan(4, 4, 2, 1);
  const Bytes fp32 = received(build_training_step(plan, nullptr), step::OpKind::Gather);
  plan.wire = Dtype::Bf16;
  EXPECT_EQ(received(build_training_step(plan, nullptr), step::OpKind::Gather) * 2, fp32);
}

TEST(BuildStep, OfReplicasGathersNothingAndReducesOnce) {
  StepPlan plan = gpt_plan(3, 2, 2, 1, 4);
  plan.strategy = Strategy::Replicate;
  plan.layouts.clear();
  for (std::size_t u = 0; u < plan.unit_names.size(); ++u) plan.layouts.push_back(shard_layout(1000, 1));
  const BuiltStep built = build_training_step(plan, nullptr);
  std::map<step::OpKind, int> count;
  for (const step::Op& op : built.graph.ops()) ++count[op.kind];
  EXPECT_EQ(count[step::OpKind::Gather], 0);
  EXPECT_EQ(count[step::OpKind::Reduce], 4);
  EXPECT_TRUE(built.graph.buffers().empty());
}

TEST(BuildStep, OfOneRankMovesNothing) {
  const BuiltStep built = build_training_step(gpt_plan(3, 1, 2, 1), nullptr);
  for (const step::Op& op : built.graph.ops()) {
    EXPECT_EQ(op.bytes, Bytes{0});
    EXPECT_NE(op.kind, step::OpKind::Gather);
    EXPECT_NE(op.kind, step::OpKind::Reduce);
  }
}

TEST(BuildStep, PrefetchesTheNextBackwardGatherBeforeTheReduction) {
  const auto order = [](std::int64_t prefetch) {
    std::string names;
    const BuiltStep built = build_training_step(gpt_plan(3, 2, 2, prefetch), nullptr);
    for (const step::Op& op : built.graph.ops()) {
      if (op.lane == step::LaneKind::Collective) names += op.name + ", ";
    }
    return names;
  };
  EXPECT_EQ(
      order(1),
      "gather root, gather h.0, gather h.1, gather h.2, gather h.1, reduce h.2, gather h.0, reduce h.1, reduce h.0, reduce root, total, ");
  EXPECT_EQ(
      order(0),
      "gather root, gather h.0, gather h.1, gather h.2, reduce h.2, gather h.1, reduce h.1, gather h.0, reduce h.0, reduce root, total, ");
}

TEST(BuildStep, GathersForTheNextBackwardAfterTheReductionIfToldSo) {
  const auto order = [](std::int64_t prefetch) {
    StepPlan plan = gpt_plan(3, 2, 0, prefetch);
    plan.backward_prefetch = BackwardPrefetch::Post;
    std::string names;
    const BuiltStep built = build_training_step(plan, nullptr);
    for (const step::Op& op : built.graph.ops()) {
      if (op.kind == step::OpKind::Reduce || op.kind == step::OpKind::Gather) names += op.name + ", ";
    }
    return names;
  };
  EXPECT_EQ(order(1),
            "gather root, gather h.0, gather h.1, gather h.2, reduce h.2, gather h.1, reduce h.1, gather h.0, reduce h.0, reduce root, ");
  EXPECT_EQ(order(2),
            "gather root, gather h.0, gather h.1, gather h.2, reduce h.2, gather h.1, gather h.0, reduce h.1, reduce h.0, reduce root, ");
}

TEST(BuildStep, OfLocalAccumulationReducesOnceAndCountsTheGradientsThatStay) {
  StepPlan plan = gpt_plan(3, 2, 2, 1, 4);
  plan.accumulate = Accumulate::Local;
  const BuiltStep built = build_training_step(plan, nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  std::int64_t model = 0;
  for (const ShardLayout& layout : plan.layouts) model += 4 * layout.padded;
  EXPECT_EQ(received(built, step::OpKind::Reduce), Bytes{model / 2});
  const step::StepRun run = step::run_virtual(built.graph, DrawnCost(1), {});
  EXPECT_EQ(run.pool_peaks[built.reductions->index], 3);
  EXPECT_GE(run.buffers_peak, Bytes{model + 4 * plan.layouts[0].padded}) << "all gradients, and the root's parameters";
  plan.micro_batches = 1;
  const BuiltStep one = build_training_step(plan, nullptr);
  EXPECT_LE(step::run_virtual(one.graph, DrawnCost(1), {}).pool_peaks[one.reductions->index], 2) << "of one micro-batch nothing stays";
}

TEST(BuildStep, WithCheckpointsRecomputesEveryBlockButTheOneThatWasForwardLast) {
  StepPlan plan = gpt_plan(3, 2, 2, 1, 2);
  plan.checkpoint = true;
  const BuiltStep built = build_training_step(plan, nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  std::string order;
  for (const step::Op& op : built.graph.ops()) {
    if (op.kind == step::OpKind::Backward || op.name.starts_with("recompute")) order += op.name + ", ";
  }
  const std::string micro_batch = "backward head, backward h.2, recompute h.1, backward h.1, recompute h.0, backward h.0, backward embed, ";
  EXPECT_EQ(order, micro_batch + micro_batch);
}

TEST(BuildStep, ReducesInAWireOfItsOwn) {
  StepPlan plan = gpt_plan(4, 4, 2, 1);
  const Bytes gathers = received(build_training_step(plan, nullptr), step::OpKind::Gather);
  const Bytes reductions = received(build_training_step(plan, nullptr), step::OpKind::Reduce);
  plan.reduce_wire = Dtype::Bf16;
  EXPECT_EQ(received(build_training_step(plan, nullptr), step::OpKind::Gather), gathers);
  EXPECT_EQ(received(build_training_step(plan, nullptr), step::OpKind::Reduce) * 2, reductions);
}

TEST(BuildStep, RefusesAPlanWhosePartsDisagree) {
  StepPlan plan = gpt_plan(2, 2, 2, 1);
  plan.layouts.pop_back();
  EXPECT_THROW((void)build_training_step(plan, nullptr), InvalidArgument);
}

}  // namespace
}  // namespace twinax::fsdp
