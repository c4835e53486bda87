#include "twinax/fsdp/state_bytes.hpp"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Units of so many elements, laid out for a strategy.
StepPlan plan_of(Strategy strategy, int ranks, const std::vector<std::int64_t>& elements) {
  StepPlan plan{.ranks = ranks, .ranks_per_node = 2, .strategy = strategy};
  for (const std::int64_t count : elements) {
    plan.unit_names.push_back("unit " + std::to_string(plan.unit_names.size()));
    plan.layouts.push_back(shard_layout(count, plan.shards()));
  }
  return plan;
}

TEST(StateBytes, AreFourValuesForEachElementOfAShard) {
  // 1600 + 6400 elements: whole numbers of cache lines over 1, 2 and 4 ranks.
  for (const auto& [strategy, shards] :
       {std::pair{Strategy::Full, 4}, {Strategy::Keep, 4}, {Strategy::Hybrid, 2}, {Strategy::Replicate, 1}}) {
    const StateBytes state = state_bytes(plan_of(strategy, 4, {1600, 6400}));
    EXPECT_EQ(state.parameters, Bytes{4 * 8000 / shards});
    EXPECT_EQ(state.gradients, Bytes{4 * 8000 / shards});
    EXPECT_EQ(state.moments, Bytes{8 * 8000 / shards});
    EXPECT_EQ(state.total(), Bytes{16 * 8000 / shards});
  }
}

TEST(StateBytes, HaveAResidualForEachValueThatAnInt8ReductionSends) {
  for (const auto& [strategy, sent] : {std::pair{Strategy::Full, 8000}, {Strategy::Hybrid, 4000}, {Strategy::Replicate, 8000}}) {
    StepPlan plan = plan_of(strategy, 4, {1600, 6400});
    plan.reduce_wire = Dtype::Int8;
    EXPECT_EQ(state_bytes(plan).residuals, Bytes{4 * sent});
  }
  StepPlan alone = plan_of(Strategy::Full, 1, {1600, 6400});
  alone.reduce_wire = Dtype::Int8;
  EXPECT_EQ(state_bytes(alone).residuals, Bytes{0}) << "one rank sends nothing";
}

TEST(StateBytes, AreWhatATrainerHolds) {
  for (const Strategy strategy : {Strategy::Full, Strategy::Keep, Strategy::Hybrid, Strategy::Replicate}) {
    for (const std::optional<Dtype> wire : {std::optional<Dtype>{}, std::optional(Dtype::Int8)}) {
      TrainerOptions options = test::learning_options(1);
      options.strategy = strategy;
      options.reduce_wire = wire;
      StepPlan plan{.ranks = 4, .ranks_per_node = 2, .strategy = strategy, .reduce_wire = wire};
      for (const nn::UnitSpec& unit : nn::gpt_units(test::kShape)) plan.layouts.push_back(shard_layout(unit.elements, plan.shards()));
      const test::Curve curve = test::train({.ranks = 4, .ranks_per_node = 2, .global_batch = 4}, options);
      EXPECT_EQ(state_bytes(plan).total(), Bytes{curve.state_bytes});
    }
  }
}

std::string refusal(const StepPlan& plan, const step::Arena& arena) {
  try {
    check_state_fits(plan, arena);
  } catch (const OutOfBudget& error) {
    return error.what();
  }
  return "";
}

TEST(StateBytes, FitABudgetToTheByte) {
  const StepPlan plan = plan_of(Strategy::Replicate, 2, {1600, 6400});
  EXPECT_EQ(refusal(plan, step::Arena(Bytes{128'000})), "");
  EXPECT_NE(refusal(plan, step::Arena(Bytes{127'999})), "");
  EXPECT_EQ(refusal(plan, step::Arena()), "") << "no budget holds everything";
}

TEST(StateBytes, ThatDontFitAreRefusedWithWhoNeedsWhat) {
  step::Arena arena(Bytes{150'000});
  const auto held = arena.take({.size = {50'000}, .holder = "activations"});
  EXPECT_THAT(refusal(plan_of(Strategy::Replicate, 2, {1600, 6400}), arena),
              AllOf(HasSubstr("out of the memory budget of 150 KB (memory.budget)"), HasSubstr("replicate a rank keeps 128 KB"),
                    HasSubstr("parameters 32.0 KB, gradients 32.0 KB, optimizer state 64.0 KB"), HasSubstr("activations 50.0 KB"),
                    HasSubstr("by full, over 2 ranks, it would be 64.0 KB"), Not(HasSubstr("error feedback"))));
  StepPlan full = plan_of(Strategy::Full, 2, {1600, 16'000});
  full.reduce_wire = Dtype::Int8;
  EXPECT_THAT(refusal(full, arena), AllOf(HasSubstr("error feedback 70.4 KB"), Not(HasSubstr("it would be"))));
  arena.give(held);
}

TEST(Replicate, IsRefusedWhereFullTrainsInTheSameBudget) {
  // Half of what replicate keeps on each of 2 ranks, beside what both hold besides: what a step of full has in flight.
  TrainerOptions options = test::learning_options(2);
  test::Layout layout{.ranks = 2, .global_batch = 2, .steps = 2};
  layout.layers = 12;
  const test::Curve full = test::train(layout, options);
  layout.budget = full.memory.reserved_peak;
  EXPECT_EQ(test::train(layout, options).losses.size(), 2U);
  options.strategy = Strategy::Replicate;
  try {
    (void)test::train(layout, options);
    FAIL() << "the replica doesn't fit";
  } catch (const OutOfBudget& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("by the strategy replicate"), HasSubstr("by full, over 2 ranks")));
  }
}

}  // namespace
}  // namespace twinax::fsdp
