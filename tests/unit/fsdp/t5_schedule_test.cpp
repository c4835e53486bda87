#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/fsdp/build_step.hpp"
#include "twinax/nn/t5.hpp"
#include "twinax/step/verify.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::fsdp {
namespace {

/// A plan of a real model's units and stages.
StepPlan t5_plan(std::int64_t encoder, std::int64_t decoder, std::int64_t limit, std::int64_t prefetch, std::int64_t micro_batches) {
  tensor::Matmul matmul;
  const auto model = nn::make_t5<float>({.layers = encoder, .decoder_layers = decoder, .width = 4, .heads = 1, .head_width = 4}, 0, matmul);
  StepPlan plan;
  for (const nn::UnitSpec& unit : model->units()) {
    plan.unit_names.push_back(unit.name);
    plan.layouts.push_back(shard_layout(unit.elements, 3));
  }
  plan.stages.assign(model->stages().begin(), model->stages().end());
  plan.forward_flops.assign(plan.stages.size(), Flops{1});
  plan.backward_flops.assign(plan.stages.size(), Flops{2});
  plan.micro_batches = micro_batches;
  plan.ranks = 3;
  plan.limit = limit;
  plan.prefetch = prefetch;
  return plan;
}

/// The blocks as a step computes them: the encoder's from first to last, then the decoder's, then all back, the last decoder block once
/// for both directions.
std::vector<std::string> blocks_in_order(std::int64_t encoder, std::int64_t decoder, std::int64_t micro_batches) {
  std::vector<std::string> order;
  for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::int64_t e = 0; e < encoder; ++e) {
      // The first block's backward and its forward in the next micro-batch follow each other: one gather.
      if (e > 0 || micro_batch == 0) order.push_back("encoder.block." + std::to_string(e));
    }
    for (std::int64_t d = 0; d < decoder; ++d) order.push_back("decoder.block." + std::to_string(d));
    for (std::int64_t d = decoder - 1; d-- > 0;) order.push_back("decoder.block." + std::to_string(d));
    for (std::int64_t e = encoder; e-- > 0;) order.push_back("encoder.block." + std::to_string(e));
  }
  return order;
}

class EveryT5 : public ::testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>> {};

TEST_P(EveryT5, AsksForTheUnitThatIsNeededNextAtEveryStep) {
  const auto [encoder, decoder, limit, prefetch, micro_batches] = GetParam();
  const StepPlan plan = t5_plan(encoder, decoder, limit, prefetch, micro_batches);
  const BuiltStep built = build_training_step(plan, nullptr);
  ASSERT_NO_THROW(step::verify(built.graph));
  const std::vector<std::string> order = blocks_in_order(encoder, decoder, micro_batches);
  const auto ahead = static_cast<std::size_t>(limit == 0 ? prefetch : std::min(prefetch, limit - 1));
  std::size_t asked = 0;  // gathers of blocks so far
  std::size_t using_now = 0;
  bool began = false;
  for (const step::Op& op : built.graph.ops()) {
    if (op.unit <= 0) continue;
    const std::string& name = plan.unit_names[static_cast<std::size_t>(op.unit)];
    if (op.kind == step::OpKind::Gather) {
      ASSERT_LT(asked, order.size());
      EXPECT_EQ(name, order[asked]) << "gather " << asked;
      ++asked;
    } else if (op.kind == step::OpKind::Forward || op.kind == step::OpKind::Backward) {
      if (began && order[using_now] != name) ++using_now;
      began = true;
      ASSERT_LT(using_now, order.size());
      EXPECT_EQ(name, order[using_now]) << op.name;
      EXPECT_EQ(asked, std::min(using_now + 1 + ahead, order.size())) << op.name << ": the next " << ahead << " have been asked for";
    }
  }
  EXPECT_EQ(asked, order.size());
}

INSTANTIATE_TEST_SUITE_P(T5Schedule, EveryT5,
                         ::testing::Combine(::testing::Values(1, 3), ::testing::Values(2, 4), ::testing::Values(0, 1, 2, 3),
                                            ::testing::Values(0, 1, 2), ::testing::Values(1, 2)));

TEST(T5Schedule, PrefetchesFromTheDecodersFirstBlockIntoTheEncodersLast) {
  std::string names;
  const BuiltStep built = build_training_step(t5_plan(2, 2, 2, 1, 1), nullptr);
  for (const step::Op& op : built.graph.ops()) {
    if (op.unit > 0 && op.kind != step::OpKind::Optimize) names += op.name + ", ";
  }
  EXPECT_EQ(names,
            "gather encoder.block.0, gather encoder.block.1, forward encoder.block.0, gather decoder.block.0, forward encoder.block.1, "
            "gather decoder.block.1, forward decoder.block.0, gather decoder.block.0, forward decoder.block.1, backward decoder.block.1, "
            "reduce decoder.block.1, gather encoder.block.1, backward decoder.block.0, reduce decoder.block.0, gather encoder.block.0, "
            "backward encoder.block.1, reduce encoder.block.1, backward encoder.block.0, reduce encoder.block.0, ");
}

}  // namespace
}  // namespace twinax::fsdp
