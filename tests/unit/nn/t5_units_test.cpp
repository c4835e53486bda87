#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/nn/t5.hpp"

#include "unit/nn/trained.hpp"

namespace twinax::nn {
namespace {

constexpr T5Shape kXxl{.layers = 24,
                       .decoder_layers = 24,
                       .width = 4096,
                       .heads = 64,
                       .head_width = 64,
                       .feed_forward = 10240,
                       .context = 512,
                       .targets = 512,
                       .vocabulary = 32128};

TEST(T5Units, AreRootEncoderAndDecoderWithoutGaps) {
  const std::vector<UnitSpec> units =
      t5_units({.layers = 2, .decoder_layers = 3, .width = 8, .heads = 2, .head_width = 3, .feed_forward = 20, .vocabulary = 10});
  std::vector<std::string> names;
  for (const UnitSpec& unit : units) {
    names.push_back(unit.name);
    test::expect_no_gaps(unit);
  }
  EXPECT_THAT(names,
              testing::ElementsAre("root", "encoder.block.0", "encoder.block.1", "decoder.block.0", "decoder.block.1", "decoder.block.2"));
}

TEST(T5Units, HaveTheNamesAndShapesOfHuggingFace) {
  const std::vector<UnitSpec> units =
      t5_units({.layers = 2, .decoder_layers = 2, .width = 8, .heads = 2, .head_width = 3, .feed_forward = 20, .vocabulary = 10});
  using testing::ElementsAre;
  EXPECT_THAT(test::lines_of(units[0]), ElementsAre("shared.weight 10 8 decays", "encoder.final_layer_norm.weight 8",
                                                    "decoder.final_layer_norm.weight 8", "lm_head.weight 10 8 decays"));
  EXPECT_THAT(
      test::lines_of(units[1]),
      ElementsAre("encoder.block.0.layer.0.SelfAttention.q.weight 6 8 decays", "encoder.block.0.layer.0.SelfAttention.k.weight 6 8 decays",
                  "encoder.block.0.layer.0.SelfAttention.v.weight 6 8 decays", "encoder.block.0.layer.0.SelfAttention.o.weight 8 6 decays",
                  "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight 32 2",
                  "encoder.block.0.layer.0.layer_norm.weight 8", "encoder.block.0.layer.1.DenseReluDense.wi_0.weight 20 8 decays",
                  "encoder.block.0.layer.1.DenseReluDense.wi_1.weight 20 8 decays",
                  "encoder.block.0.layer.1.DenseReluDense.wo.weight 8 20 decays", "encoder.block.0.layer.1.layer_norm.weight 8"));
  EXPECT_THAT(
      test::lines_of(units[4]),
      ElementsAre("decoder.block.1.layer.0.SelfAttention.q.weight 6 8 decays", "decoder.block.1.layer.0.SelfAttention.k.weight 6 8 decays",
                  "decoder.block.1.layer.0.SelfAttention.v.weight 6 8 decays", "decoder.block.1.layer.0.SelfAttention.o.weight 8 6 decays",
                  "decoder.block.1.layer.0.layer_norm.weight 8", "decoder.block.1.layer.1.EncDecAttention.q.weight 6 8 decays",
                  "decoder.block.1.layer.1.EncDecAttention.k.weight 6 8 decays",
                  "decoder.block.1.layer.1.EncDecAttention.v.weight 6 8 decays",
                  "decoder.block.1.layer.1.EncDecAttention.o.weight 8 6 decays", "decoder.block.1.layer.1.layer_norm.weight 8",
                  "decoder.block.1.layer.2.DenseReluDense.wi_0.weight 20 8 decays",
                  "decoder.block.1.layer.2.DenseReluDense.wi_1.weight 20 8 decays",
                  "decoder.block.1.layer.2.DenseReluDense.wo.weight 8 20 decays", "decoder.block.1.layer.2.layer_norm.weight 8"));
}

TEST(T5Units, OfTheXxlSizeHaveThePublishedParameters) {
  const std::vector<UnitSpec> units = t5_units(kXxl);
  std::int64_t sum = 0;
  for (const UnitSpec& unit : units) sum += unit.elements;
  EXPECT_NEAR(static_cast<double>(sum), 11.135e9, 0.0005e9);
  EXPECT_NEAR(static_cast<double>(units[2].elements), 192.9e6, 0.1e6) << "a block of the encoder";
  EXPECT_NEAR(static_cast<double>(units[26].elements), 260.0e6, 0.1e6) << "a block of the decoder";
}

TEST(T5Units, RefuseShapesThatCanNotBe) {
  tensor::Matmul matmul;
  for (const T5Shape& bad : {T5Shape{.layers = 0}, T5Shape{.decoder_layers = 0}, T5Shape{.heads = 0}, T5Shape{.head_width = -1},
                             T5Shape{.feed_forward = 0}, T5Shape{.targets = 0}, T5Shape{.vocabulary = 0}}) {
    EXPECT_THROW((void)make_t5<float>(bad, 1, matmul), InvalidArgument);
  }
}

/// Flops of B sequences of s inputs and s targets by the published formula, with h the width, V the vocabulary and d_ff = 2.5 h: an
/// encoder's block forward is 23 B s h^2 + 4 B s^2 h, a decoder's 31 B s h^2 + 8 B s^2 h, backward twice that, and the head 6 B s h V.
TEST(T5Flops, AreThoseOfThePublishedFormula) {
  tensor::Matmul matmul;
  // A model of no sequences takes no memory for activations, but for logits' none either: any size can be made.
  const auto model = make_t5<float>(kXxl, 0, matmul);
  constexpr double kBatch = 20, s = 512, h = 4096, v = 32128;
  double forward = 0, backward = 0, blocks = 0;
  for (std::size_t stage = 0; stage < model->stages().size(); ++stage) {
    forward += model->forward_flops(stage, 20).value;
    backward += model->backward_flops(stage, 20).value;
    if (model->stages()[stage].unit != 0) blocks += model->forward_flops(stage, 20).value;
  }
  EXPECT_NEAR(model->forward_flops(1, 20).value / (23 * kBatch * s * h * h + 4 * kBatch * s * s * h), 1, 1e-12);
  EXPECT_NEAR(model->forward_flops(26, 20).value / (31 * kBatch * s * h * h + 8 * kBatch * s * s * h), 1, 1e-12);
  const double with_recomputation = 96 * (54 * kBatch * s * h * h + 12 * kBatch * s * s * h) + 6 * kBatch * s * h * v;
  EXPECT_NEAR((forward + backward + blocks) / with_recomputation, 1, 1e-12);
}

}  // namespace
}  // namespace twinax::nn
