#include "twinax/nn/t5.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/central_differences.hpp"
#include "unit/nn/t5_reference.hpp"

namespace twinax::nn {
namespace {

constexpr T5Shape kTiny{.layers = 2,
                        .decoder_layers = 3,
                        .width = 6,
                        .heads = 2,
                        .head_width = 2,
                        .feed_forward = 5,
                        .context = 5,
                        .targets = 4,
                        .vocabulary = 7};

/// A model with its parameters and gradients, unit by unit.
template <class Real>
struct Trained {
  tensor::Matmul matmul;
  std::unique_ptr<Model<Real>> model;
  std::vector<std::vector<Real>> parameters, gradients;

  Trained(const T5Shape& shape, std::int64_t max_sequences, bool checkpoints = false)
      : model(make_t5<Real>(shape, max_sequences, matmul, checkpoints)) {
    for (std::size_t unit = 0; unit < model->units().size(); ++unit) {
      const std::int64_t elements = model->units()[unit].elements;
      const std::vector<double> drawn = ::twinax::test::normal_numbers(elements, static_cast<std::uint32_t>(unit), 0.4);
      parameters.emplace_back(drawn.begin(), drawn.end());
      gradients.emplace_back(static_cast<std::size_t>(elements), Real(0));
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
  void backward(Real scale) {
    for (std::size_t stage = model->stages().size(); stage-- > 0;) {
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

TEST(T5, LosesWhatItsDefinitionSays) {
  Trained<double> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 2 * 9);
  const std::vector<UnitSpec> units = t5_units(kTiny);
  const test::T5Reference reference(kTiny, units, trained.parameters);
  double wanted = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    wanted += reference.loss(std::span(tokens).subspan(b * 9, 5), std::span(tokens).subspan(b * 9 + 5, 4));
  }
  EXPECT_NEAR(trained.forward({tokens, 2, 5, 4}), wanted, 1e-12 * wanted);
}

void expect_gradients_of(const T5Shape& shape, std::int64_t sequences, std::int64_t length, std::int64_t targets) {
  Trained<double> trained(shape, sequences);
  const auto tokens = tokens_below(shape.vocabulary, sequences * (length + targets));
  const TokenBatch batch{tokens, sequences, length, targets};
  constexpr double kScale = 0.25;
  (void)trained.forward(batch);
  trained.backward(kScale);
  for (std::size_t unit = 0; unit < trained.parameters.size(); ++unit) {
    const std::string name(trained.model->units()[unit].name);
    const std::vector<double> analytic = trained.gradients[unit];
    ::twinax::test::expect_gradient(name.c_str(), trained.parameters[unit], analytic, [&] { return kScale * trained.forward(batch); });
  }
}

TEST(T5, GradientsAgreeWithCentralDifferences) {
  expect_gradients_of(kTiny, 2, 5, 4);
}

TEST(T5, GradientsAgreeWithCentralDifferencesOfShorterSequencesThanItWasMadeFor) {
  T5Shape shape = kTiny;
  shape.context = 9;
  shape.targets = 11;
  expect_gradients_of(shape, 1, 3, 5);
}

TEST(T5, BackwardAddsToTheGradients) {
  Trained<double> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 18);
  (void)trained.forward({tokens, 2, 5, 4});
  trained.backward(1.0);
  const auto once = trained.gradients;
  (void)trained.forward({tokens, 2, 5, 4});
  trained.backward(1.0);
  for (std::size_t unit = 0; unit < once.size(); ++unit) {
    for (std::size_t i = 0; i < once[unit].size(); ++i) ASSERT_NEAR(trained.gradients[unit][i], 2 * once[unit][i], 1e-12);
  }
}

TEST(T5, WithCheckpointsHasTheSameGradientsIfBlocksRunForwardAgain) {
  Trained<double> trained(kTiny, 2), again(kTiny, 2, /*checkpoints=*/true);
  const auto tokens = tokens_below(7, 18);
  (void)trained.forward({tokens, 2, 5, 4});
  trained.backward(1.0);
  (void)again.forward({tokens, 2, 5, 4});
  for (std::size_t stage = again.model->stages().size(); stage-- > 0;) {
    if (again.model->stages()[stage].unit != 0) again.model->forward(stage, again.unit_of(stage, again.parameters));
    again.model->backward(stage, again.unit_of(stage, again.parameters), again.unit_of(stage, again.gradients), 1.0);
  }
  EXPECT_EQ(again.gradients, trained.gradients);
}

TEST(T5, SequencesDoNotSeeEachOther) {
  Trained<double> together(kTiny, 3), alone(kTiny, 3);
  const auto tokens = tokens_below(7, 27);
  const double sum = together.forward({tokens, 3, 5, 4});
  together.backward(1.0);
  double sum_alone = 0;
  for (std::size_t b = 0; b < 3; ++b) {
    sum_alone += alone.forward({std::span(tokens).subspan(b * 9, 9), 1, 5, 4});
    alone.backward(1.0);
  }
  EXPECT_NEAR(sum, sum_alone, 1e-12 * sum);
  for (std::size_t unit = 0; unit < together.gradients.size(); ++unit) {
    for (std::size_t i = 0; i < together.gradients[unit].size(); ++i) {
      ASSERT_NEAR(together.gradients[unit][i], alone.gradients[unit][i], 1e-12);
    }
  }
}

TEST(T5, InSinglePrecisionAgreesWithDouble) {
  const T5Shape shape{.layers = 2,
                      .decoder_layers = 2,
                      .width = 48,
                      .heads = 3,
                      .head_width = 8,
                      .feed_forward = 40,
                      .context = 70,
                      .targets = 37,
                      .vocabulary = 61};
  Trained<double> exact(shape, 2);
  Trained<float> single(shape, 2);
  for (std::size_t unit = 0; unit < exact.parameters.size(); ++unit) {
    initialize<double>(exact.model->units()[unit], unit, 1, 0, exact.parameters[unit]);
    initialize<float>(exact.model->units()[unit], unit, 1, 0, single.parameters[unit]);
  }
  const auto tokens = tokens_below(61, 2 * 107);
  const double wanted = exact.forward({tokens, 2, 70, 37});
  EXPECT_NEAR(single.forward({tokens, 2, 70, 37}), wanted, 1e-5 * wanted);
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

TEST(T5, GivesTheSameBitsAgain) {
  Trained<float> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 18);
  const double first = trained.forward({tokens, 2, 5, 4});
  trained.backward(1.0F);
  const auto gradients = trained.gradients;
  for (auto& unit : trained.gradients) std::fill(unit.begin(), unit.end(), 0.0F);
  EXPECT_EQ(trained.forward({tokens, 2, 5, 4}), first);
  trained.backward(1.0F);
  EXPECT_EQ(trained.gradients, gradients);
}

TEST(T5, TakesPartWithoutSequences) {
  for (const std::int64_t room : {0, 2}) {
    Trained<float> trained(kTiny, room);
    EXPECT_EQ(trained.forward({{}, 0, 5, 4}), 0.0);
    trained.backward(1.0F);
    for (const auto& unit : trained.gradients) EXPECT_THAT(unit, testing::Each(0.0F));
  }
}

TEST(T5, RefusesBatchesItWasNotMadeFor) {
  Trained<float> trained(kTiny, 2);
  const std::vector<std::int32_t> tokens(100, 0);
  const auto first = [&](std::size_t count) { return std::span(tokens).first(count); };
  EXPECT_THROW(trained.model->start({first(27), 3, 5, 4}), InvalidArgument);
  EXPECT_THROW(trained.model->start({first(20), 2, 6, 4}), InvalidArgument);
  EXPECT_THROW(trained.model->start({first(20), 2, 5, 5}), InvalidArgument);
  EXPECT_THROW(trained.model->start({first(12), 2, 5, 0}), InvalidArgument) << "targets are not the next tokens";
  EXPECT_THROW(trained.model->start({first(17), 2, 5, 4}), InvalidArgument);
  std::vector<std::int32_t> bad(18, 6);
  trained.model->start({bad, 2, 5, 4});
  bad.back() = 7;
  EXPECT_THROW(trained.model->start({bad, 2, 5, 4}), InvalidArgument);
  std::vector<float> wrong(3);
  EXPECT_THROW(trained.model->forward(0, wrong), InvalidArgument);
}

}  // namespace
}  // namespace twinax::nn
