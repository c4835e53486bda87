#include "twinax/nn/gpt.hpp"

#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/central_differences.hpp"

namespace twinax::nn {
namespace {

constexpr GptShape kTiny{.layers = 2, .width = 6, .heads = 2, .context = 5, .vocabulary = 7, .tied = true};

/// A model with its parameters and gradients, unit by unit.
template <class Real>
struct Trained {
  tensor::Matmul matmul;
  std::unique_ptr<Model<Real>> model;
  std::vector<std::vector<Real>> parameters, gradients;

  Trained(const GptShape& shape, std::int64_t max_sequences, bool checkpoints = false)
      : model(make_gpt<Real>(shape, max_sequences, matmul, checkpoints)) {
    for (std::size_t unit = 0; unit < model->units().size(); ++unit) {
      const auto elements = static_cast<std::size_t>(model->units()[unit].elements);
      std::vector<double> drawn = test::normal_numbers(model->units()[unit].elements, static_cast<std::uint32_t>(unit), 0.3);
      parameters.emplace_back(drawn.begin(), drawn.end());
      gradients.emplace_back(elements, Real(0));
    }
  }
  std::vector<Real>& unit_of(std::size_t stage, std::vector<std::vector<Real>>& units) {
    return units[static_cast<std::size_t>(model->stages()[stage].unit)];
  }
  double forward(const TokenBatch& batch) {
    model->start(batch);
    for (std::size_t stage = 0; stage < model->stages().size(); ++stage) model->forward(stage, unit_of(stage, parameters));
    return model->loss_sum();
  }
  void backward(Real scale, bool recomputes = false) {
    for (std::size_t stage = model->stages().size(); stage-- > 0;) {
      if (recomputes && model->stages()[stage].unit != 0) model->forward(stage, unit_of(stage, parameters));
      model->backward(stage, unit_of(stage, parameters), unit_of(stage, gradients), scale);
    }
  }
};

std::vector<std::int32_t> tokens_below(std::int64_t vocabulary, std::int64_t count) {
  const Philox random(3, Draw::Test);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(vocabulary));
  }
  return tokens;
}

void expect_gradients_of(const GptShape& shape, std::int64_t sequences, std::int64_t length) {
  Trained<double> trained(shape, sequences);
  const auto tokens = tokens_below(shape.vocabulary, sequences * (length + 1));
  const TokenBatch batch{tokens, sequences, length};
  constexpr double kScale = 0.25;
  (void)trained.forward(batch);
  trained.backward(kScale);
  for (std::size_t unit = 0; unit < trained.parameters.size(); ++unit) {
    const std::string name(trained.model->units()[unit].name);
    const std::vector<double> analytic = trained.gradients[unit];
    test::expect_gradient(name.c_str(), trained.parameters[unit], analytic, [&] { return kScale * trained.forward(batch); });
  }
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
  for (std::size_t unit = 0; unit < once.size(); ++unit) {
    for (std::size_t i = 0; i < once[unit].size(); ++i) ASSERT_NEAR(trained.gradients[unit][i], 2 * once[unit][i], 1e-12);
  }
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
  Trained<double> together(kTiny, 3), alone(kTiny, 3);
  const auto tokens = tokens_below(7, 18);
  const double sum = together.forward({tokens, 3, 5});
  together.backward(1.0);
  double sum_alone = 0;
  for (std::size_t b = 0; b < 3; ++b) {
    sum_alone += alone.forward({std::span(tokens).subspan(b * 6, 6), 1, 5});
    alone.backward(1.0);
  }
  EXPECT_NEAR(sum, sum_alone, 1e-12 * sum);
  for (std::size_t unit = 0; unit < together.gradients.size(); ++unit) {
    for (std::size_t i = 0; i < together.gradients[unit].size(); ++i) {
      ASSERT_NEAR(together.gradients[unit][i], alone.gradients[unit][i], 1e-12);
    }
  }
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
  const double wanted = exact.forward({tokens, 2, 37});
  EXPECT_NEAR(single.forward({tokens, 2, 37}), wanted, 1e-5 * wanted);
  exact.backward(1.0 / 74);
  single.backward(1.0F / 74);
  for (std::size_t unit = 0; unit < exact.gradients.size(); ++unit) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < exact.gradients[unit].size(); ++i) {
      difference += std::pow(single.gradients[unit][i] - exact.gradients[unit][i], 2);
      norm += std::pow(exact.gradients[unit][i], 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 1e-5) << unit;
  }
}

TEST(Gpt, GivesTheSameBitsAgain) {
  Trained<float> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 12);
  const double first = trained.forward({tokens, 2, 5});
  trained.backward(1.0F);
  const auto gradients = trained.gradients;
  for (auto& unit : trained.gradients) std::fill(unit.begin(), unit.end(), 0.0F);
  EXPECT_EQ(trained.forward({tokens, 2, 5}), first);
  trained.backward(1.0F);
  EXPECT_EQ(trained.gradients, gradients);
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
    std::int64_t offset = 0;
    for (const ParameterSpec& parameter : unit.parameters) {
      EXPECT_EQ(parameter.offset, offset) << parameter.name;
      offset += parameter.elements();
    }
    EXPECT_EQ(offset, unit.elements);
  }
}

TEST(GptUnits, HaveTheNamesAndShapesOfGpt2) {
  const std::vector<UnitSpec> units = gpt_units({.layers = 1, .width = 8, .heads = 2, .context = 16, .vocabulary = 10, .tied = true});
  const auto text = [](const UnitSpec& unit) {
    std::vector<std::string> lines;
    for (const ParameterSpec& parameter : unit.parameters) {
      std::ostringstream line;
      line << parameter.name;
      for (const std::int64_t extent : parameter.shape) line << ' ' << extent;
      if (parameter.decays) line << " decays";
      lines.push_back(line.str());
    }
    return lines;
  };
  EXPECT_THAT(text(units[0]), testing::ElementsAre("wte.weight 10 8 decays", "wpe.weight 16 8 decays", "ln_f.weight 8", "ln_f.bias 8"));
  EXPECT_THAT(text(units[1]), testing::ElementsAre("h.0.ln_1.weight 8", "h.0.ln_1.bias 8", "h.0.attn.c_attn.weight 24 8 decays",
                                                   "h.0.attn.c_attn.bias 24", "h.0.attn.c_proj.weight 8 8 decays", "h.0.attn.c_proj.bias 8",
                                                   "h.0.ln_2.weight 8", "h.0.ln_2.bias 8", "h.0.mlp.c_fc.weight 32 8 decays",
                                                   "h.0.mlp.c_fc.bias 32", "h.0.mlp.c_proj.weight 8 32 decays", "h.0.mlp.c_proj.bias 8"));
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
