#include "twinax/fsdp/sharded_adamw.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace twinax::fsdp {
namespace {

AdamwOptions options() {
  return {.learning_rate = 1e-2,
          .final_learning_rate_share = 0.1,
          .warmup_steps = 10,
          .steps = 110,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .epsilon = 1e-8,
          .weight_decay = 0.1,
          .clip_norm = 1.0};
}

TEST(LearningRate, WarmsUpLinearlyThenFallsAlongAHalfCosine) {
  EXPECT_DOUBLE_EQ(learning_rate_at(options(), 0), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate_at(options(), 9), 1e-2);
  EXPECT_NEAR(learning_rate_at(options(), 60), 1e-2 * (0.1 + 0.9 * 0.5), 2e-4) << "half way down";
  EXPECT_NEAR(learning_rate_at(options(), 109), 1e-3, 1e-5);
  EXPECT_DOUBLE_EQ(learning_rate_at(options(), 500), 1e-3) << "past the end it stays";
}

TEST(LearningRate, OfARunShorterThanItsWarmUpStaysFinite) {
  AdamwOptions brief = options();
  brief.steps = 5;
  for (int s = 0; s < 5; ++s) EXPECT_DOUBLE_EQ(learning_rate_at(brief, s), 1e-3 * (s + 1));
}

TEST(ClipFactor, BringsTheNormDownAndNeverUp) {
  EXPECT_DOUBLE_EQ(clip_factor(options(), 4.0), 0.25);
  EXPECT_DOUBLE_EQ(clip_factor(options(), 0.5), 1.0);
  EXPECT_DOUBLE_EQ(clip_factor(options(), 0.0), 1.0);
  AdamwOptions off = options();
  off.clip_norm = 0;
  EXPECT_DOUBLE_EQ(clip_factor(off, 100.0), 1.0);
}

TEST(Update, FollowsTheFormulaAndDecaysMatricesOnly) {
  nn::UnitSpec unit{.name = "u"};
  unit.parameters = {{.name = "gain", .shape = {1}, .offset = 0, .initial_constant = 1.0},
                     {.name = "weight", .shape = {1, 1}, .offset = 1, .initial_constant = 2.0, .decays = true}};
  unit.elements = 2;
  FlatParameter parameter(unit, 0, 1, 1, 0);
  parameter.gradient()[0] = 0.5F;
  parameter.gradient()[1] = -3.0F;
  double m[2] = {0, 0};
  double v[2] = {0, 0};
  double p[2] = {1.0, 2.0};
  for (int t = 1; t <= 3; ++t) {
    update(parameter, options(), 0.01, 0.5, t);
    for (int i = 0; i < 2; ++i) {
      const double g = (i == 0 ? 0.5 : -3.0) * 0.5;
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      const double step = (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
      p[i] -= 0.01 * (step + (i == 1 ? 0.1 * p[i] : 0.0));
      EXPECT_NEAR(parameter.master()[static_cast<std::size_t>(i)], p[i], 1e-6) << "update " << t;
    }
  }
}

}  // namespace
}  // namespace twinax::fsdp
