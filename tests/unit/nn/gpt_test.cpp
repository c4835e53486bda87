#include "twinax/nn/gpt.hpp"

#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/nn/trained.hpp"

namespace twinax::nn {
namespace {

constexpr GptShape kTiny{.layers = 2, .width = 6, .heads = 2, .context = 5, .vocabulary = 7, .tied = true};

using test::tokens_below;
using test::Trained;

void expect_gradients_of(const GptShape& shape, std::int64_t sequences, std::int64_t length) {
  const auto tokens = tokens_below(shape.vocabulary, sequences * (length + 1));
  test::expect_gradients_of(shape, {tokens, sequences, length});
}

TEST(Gpt, GradientsAgreeWithCentralDifferencesWithATiedHead) {
  expect_gradients_of(kTiny, 2, 5);
}

TEST(Gpt, GradientsAgreeWithCentralDifferencesWithAHeadOfItsOwn) {
  GptShape shape = kTiny;
  shape.tied = false;
  expect_gradients_of(shape, 1, 4);
}

TEST(Gpt, BackwardAddsToTheGradients) {
  Trained<double> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 12);
  (void)trained.forward({tokens, 2, 5});
  trained.backward(1.0);
  const auto once = trained.gradients;
  (void)trained.forward({tokens, 2, 5});
  trained.backward(1.0);
  test::assert_gradients(trained.gradients, once, 2);
}

TEST(Gpt, WithCheckpointsHasTheSameGradientsOnceItsBlocksHaveRunForwardAgain) {
  const auto tokens = tokens_below(kTiny.vocabulary, 2 * 6);
  const auto gradients_of = [&](bool checkpoints, bool recomputes) {
    Trained<double> trained(kTiny, 2, checkpoints);
    (void)trained.forward({tokens, 2, 5});
    trained.backward(0.25, recomputes);
    std::vector<double> all;
    for (const auto& unit : trained.gradients) all.insert(all.end(), unit.begin(), unit.end());
    return all;
  };
  const std::vector<double> plain = gradients_of(false, false);
  EXPECT_THAT(gradients_of(true, true), ::testing::Pointwise(::testing::DoubleNear(1e-12), plain));
  EXPECT_THAT(gradients_of(false, true), ::testing::Pointwise(::testing::DoubleNear(1e-12), plain)) << "it may be done at any time";
  EXPECT_THAT(gradients_of(true, false), ::testing::Not(::testing::Pointwise(::testing::DoubleNear(1e-12), plain)))
      << "its blocks share what they keep";
}

TEST(Gpt, SequencesDoNotSeeEachOther) {
  test::expect_sequences_apart(kTiny, tokens_below(7, 18), {.length = 5});
}

TEST(Gpt, LosesTheLogarithmOfTheVocabularyWhenItKnowsNothing) {
  Trained<double> trained(kTiny, 2);
  for (auto& unit : trained.parameters) std::fill(unit.begin(), unit.end(), 0.0);
  const auto tokens = tokens_below(7, 12);
  EXPECT_NEAR(trained.forward({tokens, 2, 5}), 10 * std::log(7.0), 1e-12);
}

TEST(Gpt, InSinglePrecisionAgreesWithDouble) {
  const GptShape shape{.layers = 2, .width = 48, .heads = 3, .context = 37, .vocabulary = 61, .tied = true};
  Trained<double> exact(shape, 2);
  Trained<float> single(shape, 2);
  const auto tokens = tokens_below(61, 2 * 38);
  test::expect_same_in_single_precision(exact, single, {tokens, 2, 37}, 74);
}

TEST(Gpt, GivesTheSameBitsAgain) {
  Trained<float> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 12);
  test::expect_same_bits_again(trained, {tokens, 2, 5});
}

TEST(Gpt, TakesPartWithoutSequences) {
  Trained<float> trained(kTiny, 2);
  EXPECT_EQ(trained.forward({{}, 0, 5}), 0.0);
  trained.backward(1.0F);
  for (const auto& unit : trained.gradients) EXPECT_THAT(unit, testing::Each(0.0F));
}

TEST(Gpt, MayBeMadeForNoSequencesAtAll) {
  Trained<float> trained(kTiny, 0);
  EXPECT_EQ(trained.forward({{}, 0, 5}), 0.0);
  trained.backward(1.0F);
}

TEST(Gpt, RefusesBatchesItWasNotMadeFor) {
  Trained<float> trained(kTiny, 2);
  const std::vector<std::int32_t> tokens(100, 0);
  const auto first = [&](std::size_t count) { return std::span(tokens).first(count); };
  EXPECT_THROW(trained.model->start({first(18), 3, 5}), InvalidArgument);
  EXPECT_THROW(trained.model->start({first(14), 2, 6}), InvalidArgument);
  EXPECT_THROW(trained.model->start({first(11), 2, 5}), InvalidArgument);
  std::vector<std::int32_t> bad(12, 6);
  trained.model->start({bad, 2, 5});
  bad.back() = 7;
  EXPECT_THROW(trained.model->start({bad, 2, 5}), InvalidArgument);
  bad.back() = -1;
  EXPECT_THROW(trained.model->start({bad, 2, 5}), InvalidArgument);
  std::vector<float> wrong(3);
  EXPECT_THROW(trained.model->forward(0, wrong), InvalidArgument);
}

TEST(Gpt, RefusesShapesThatCanNotBe) {
  tensor::Matmul matmul;
  for (const GptShape& bad :
       {GptShape{.layers = 0}, GptShape{.width = 64, .heads = 5}, GptShape{.context = 0}, GptShape{.vocabulary = -3}}) {
    EXPECT_THROW((void)make_gpt<float>(bad, 1, matmul), InvalidArgument);
  }
}

TEST(GptUnits, AreRootAndOneABlockWithoutGaps) {
  const std::vector<UnitSpec> units = gpt_units({.layers = 3, .width = 8, .heads = 2, .context = 16, .vocabulary = 10, .tied = false});
  ASSERT_EQ(units.size(), 4U);
  EXPECT_EQ(units[0].name, "root");
  EXPECT_EQ(units[0].elements, 10 * 8 + 16 * 8 + 2 * 8 + 10 * 8);
  EXPECT_EQ(units[3].name, "h.2");
  EXPECT_EQ(units[3].elements, 12 * 64 + 13 * 8);  // 12 C^2 + 13 C
  for (const UnitSpec& unit : units) {
    test::expect_no_gaps(unit);
  }
}

TEST(GptUnits, HaveTheNamesAndShapesOfGpt2) {
  const std::vector<UnitSpec> units = gpt_units({.layers = 1, .width = 8, .heads = 2, .context = 16, .vocabulary = 10, .tied = true});
  EXPECT_THAT(test::lines_of(units[0]),
              testing::ElementsAre("wte.weight 10 8 decays", "wpe.weight 16 8 decays", "ln_f.weight 8", "ln_f.bias 8"));
  EXPECT_THAT(test::lines_of(units[1]),
              testing::ElementsAre("h.0.ln_1.weight 8", "h.0.ln_1.bias 8", "h.0.attn.c_attn.weight 24 8 decays", "h.0.attn.c_attn.bias 24",
                                   "h.0.attn.c_proj.weight 8 8 decays", "h.0.attn.c_proj.bias 8", "h.0.ln_2.weight 8", "h.0.ln_2.bias 8",
                                   "h.0.mlp.c_fc.weight 32 8 decays", "h.0.mlp.c_fc.bias 32", "h.0.mlp.c_proj.weight 8 32 decays",
                                   "h.0.mlp.c_proj.bias 8"));
}

TEST(GptUnits, BeginResidualProjectionsSmallerWithDepth) {
  const std::vector<UnitSpec> units = gpt_units({.layers = 8, .width = 8, .heads = 2, .context = 16, .vocabulary = 10, .tied = true});
  for (const ParameterSpec& parameter : units[1].parameters) {
    const bool projection = parameter.name.find("c_proj.weight") != std::string::npos;
    const bool norm = parameter.name.find("ln_") != std::string::npos;
    if (projection) {
      EXPECT_DOUBLE_EQ(parameter.initial_stddev, 0.02 / 4);
    } else if (norm) {
      EXPECT_EQ(parameter.initial_constant, parameter.name.ends_with("weight") ? 1 : 0);
    }
  }
}

TEST(GptFlops, AreSixTimesTheMatrixElementsATokenAndAttention) {
  const GptShape shape{.layers = 4, .width = 256, .heads = 8, .context = 256, .vocabulary = 8192, .tied = true};
  tensor::Matmul matmul;
  const auto model = make_gpt<float>(shape, 0, matmul);
  double total = 0;
  for (std::size_t stage = 0; stage < model->stages().size(); ++stage) {
    total += model->forward_flops(stage, 4).value + model->backward_flops(stage, 4).value;
  }
  const double a_token = 6.0 * (12.0 * 4 * 256 * 256 + 8192.0 * 256) + 6.0 * 4 * 256 * 256;  // CEILINGS: 6 (12 L C^2 + V C) + 6 L T C
  EXPECT_DOUBLE_EQ(total, 4 * 256 * a_token);
}

TEST(GptProducts, AreExactlyTheShapesThatAStepMultiplies) {
  const GptShape shape{.layers = 2, .width = 8, .heads = 2, .context = 200, .vocabulary = 11, .tied = true};
  Trained<float> trained(shape, 2);
  const auto tokens = tokens_below(11, 2 * 201);
  (void)trained.forward({tokens, 2, 200});
  trained.backward(1.0F);
  std::set<tensor::Product> used, listed;
  for (const tensor::Choice& choice : trained.matmul.choices()) used.insert(choice.product);
  double flops = 0;
  for (const GptProduct& product : gpt_products(shape, tensor::Precision::Fp32, 2, 200)) {
    listed.insert(product.product);
    flops += 2.0 * static_cast<double>(product.times * product.product.m * product.product.n * product.product.k);
  }
  EXPECT_EQ(used, listed);
  EXPECT_DOUBLE_EQ(flops, 6.0 * 400 * (2 * 12 * 64 + 11 * 8));
}

}  // namespace
}  // namespace twinax::nn
