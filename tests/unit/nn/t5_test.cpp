#include "twinax/nn/t5.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/nn/t5_reference.hpp"
#include "unit/nn/trained.hpp"

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

using test::tokens_below;
using test::Trained;

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
  const auto tokens = tokens_below(shape.vocabulary, sequences * (length + targets));
  test::expect_gradients_of(shape, {tokens, sequences, length, targets});
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
  test::assert_gradients(trained.gradients, once, 2);
}

TEST(T5, WithCheckpointsHasTheSameGradientsIfBlocksRunForwardAgain) {
  Trained<double> trained(kTiny, 2), again(kTiny, 2, /*checkpoints=*/true);
  const auto tokens = tokens_below(7, 18);
  (void)trained.forward({tokens, 2, 5, 4});
  trained.backward(1.0);
  (void)again.forward({tokens, 2, 5, 4});
  again.backward(1.0, /*recomputes=*/true);
  EXPECT_EQ(again.gradients, trained.gradients);
}

TEST(T5, SequencesDoNotSeeEachOther) {
  test::expect_sequences_apart(kTiny, tokens_below(7, 27), {.length = 5, .targets = 4});
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
  test::expect_same_in_single_precision(exact, single, {tokens, 2, 70, 37}, 74);
}

TEST(T5, GivesTheSameBitsAgain) {
  Trained<float> trained(kTiny, 2);
  const auto tokens = tokens_below(7, 18);
  test::expect_same_bits_again(trained, {tokens, 2, 5, 4});
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
