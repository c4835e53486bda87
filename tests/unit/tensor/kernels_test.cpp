#include "twinax/tensor/kernels.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/central_differences.hpp"

namespace twinax::tensor {
namespace {

using test::dot;
using test::expect_gradient;
using test::normal_numbers;
using Vector = std::vector<double>;

double gelu_reference(double u) {
  return 0.5 * u * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (u + 0.044715 * u * u * u)));
}

TEST(LayerNorm, NormalizesEachRowToMeanZeroAndVarianceOne) {
  const Vector x = normal_numbers(3 * 50, 1, 4.0);
  const Vector ones(50, 1.0), zeroes(50, 0.0);
  Vector y(150), mean(3), rstd(3);
  layer_norm_forward<double>(x, ones, zeroes, y, mean, rstd);
  for (int row = 0; row < 3; ++row) {
    const std::span<const double> values = std::span<const double>(y).subspan(static_cast<std::size_t>(row) * 50, 50);
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0), 0, 1e-12);
    EXPECT_NEAR(dot(values, values) / 50, 1, 1e-5);
  }
}

TEST(LayerNorm, BackwardAgreesWithCentralDifferencesAndAdds) {
  constexpr std::int64_t kRows = 11, kColumns = 5;  // 11: a block of eight rows and a remainder
  Vector x = normal_numbers(kRows * kColumns, 1), weight = normal_numbers(kColumns, 2), bias = normal_numbers(kColumns, 3);
  const Vector d_y = normal_numbers(kRows * kColumns, 4);
  Vector y(x.size()), mean(kRows), rstd(kRows), d_x(x.size(), 0.5), d_weight(kColumns, 0.25), d_bias(kColumns, 2.0);
  const auto loss = [&] {
    layer_norm_forward<double>(x, weight, bias, y, mean, rstd);
    return dot(y, d_y);
  };
  (void)loss();
  layer_norm_backward<double>(d_y, x, weight, mean, rstd, d_x, d_weight, d_bias);
  for (double& value : d_x) value -= 0.5;
  for (double& value : d_weight) value -= 0.25;
  for (double& value : d_bias) value -= 2.0;
  expect_gradient("x", x, d_x, loss);
  expect_gradient("weight", weight, d_weight, loss);
  expect_gradient("bias", bias, d_bias, loss);
}

TEST(Gelu, IsTheTanhForm) {
  Vector u{-30, -8, -3, -1, -0.1, 0, 0.1, 1, 3, 8, 30}, g(u.size());
  const Vector no_bias(u.size(), 0.0);
  bias_gelu_forward<double>(u, no_bias, g);
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(g[i], gelu_reference(u[i]), 1e-14) << u[i];
}

TEST(Gelu, InSinglePrecisionStaysWithinRoundingOfTheTanhForm) {
  std::vector<float> u, g;
  for (float value = -12; value < 12; value += 0.01F) u.push_back(value);
  g.resize(u.size());
  const std::vector<float> no_bias(u.size(), 0.0F);
  bias_gelu_forward<float>(u, no_bias, g);
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(g[i], gelu_reference(u[i]), 1e-6 * std::max(1.0F, std::abs(u[i]))) << u[i];
}

TEST(Gelu, BackwardAgreesWithCentralDifferences) {
  constexpr std::int64_t kRows = 9, kColumns = 4;
  Vector before = normal_numbers(kRows * kColumns, 1, 2.0), bias = normal_numbers(kColumns, 2);
  const Vector d_out = normal_numbers(kRows * kColumns, 3);
  Vector u, g(before.size());
  const auto loss = [&] {
    u = before;
    bias_gelu_forward<double>(u, bias, g);
    return dot(g, d_out);
  };
  (void)loss();
  const Vector g_forward = g;
  Vector d = d_out, g_again(g.size()), d_bias(kColumns, 0.0);
  bias_gelu_backward<double>(u, d, g_again, d_bias);
  EXPECT_EQ(g_again, g_forward);
  expect_gradient("u", before, d, loss);
  expect_gradient("bias", bias, d_bias, loss);
}

TEST(SoftmaxCrossEntropy, OfEqualLogitsIsTheLogarithmOfTheVocabulary) {
  Vector logits(2 * 7, 3.0), losses(2), normalizers(2);
  const std::vector<std::int32_t> targets{0, 6};
  softmax_cross_entropy<double>(logits, targets, losses, normalizers);
  EXPECT_THAT(losses, testing::Each(testing::DoubleNear(std::log(7.0), 1e-14)));
}

TEST(SoftmaxCrossEntropy, LeavesTheGradientTimesTheNormalizers) {
  constexpr std::int64_t kRows = 3, kColumns = 6;
  Vector logits = normal_numbers(kRows * kColumns, 1, 3.0);
  const std::vector<std::int32_t> targets{5, 0, 2};
  Vector work, losses(kRows), normalizers(kRows);
  const auto loss = [&] {
    work = logits;
    softmax_cross_entropy<double>(work, targets, losses, normalizers);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  };
  (void)loss();
  Vector d_logits(work.size());
  divide_rows<double>(work, normalizers, 1.0, d_logits);
  expect_gradient("logits", logits, d_logits, loss);
}

TEST(SoftmaxCrossEntropy, SurvivesLogitsOfAnySize) {
  std::vector<float> logits{1e30F, -1e30F, 0, -500, 500, 0}, losses(2), normalizers(2);
  const std::vector<std::int32_t> targets{0, 1};
  softmax_cross_entropy<float>(logits, targets, losses, normalizers);
  EXPECT_EQ(losses[0], 0.0F);
  EXPECT_EQ(losses[1], 0.0F);
}

TEST(SoftmaxCrossEntropy, ReportsNotANumberInsteadOfHidingIt) {
  std::vector<float> logits(40, 1.0F), losses(1), normalizers(1);
  logits[33] = std::nanf("");
  const std::vector<std::int32_t> targets{0};
  softmax_cross_entropy<float>(logits, targets, losses, normalizers);
  EXPECT_TRUE(std::isnan(losses[0]));
}

TEST(Embedding, BackwardAgreesWithCentralDifferencesWhereTokensRepeat) {
  const BatchShape shape{2, 3, 4};
  const std::vector<std::int32_t> tokens{1, 4, 1, 0, 1, 4};
  Vector token_table = normal_numbers(5 * 4, 1), position_table = normal_numbers(4 * 4, 2), out(6 * 4);  // one position more than T
  const Vector d_out = normal_numbers(6 * 4, 3);
  const auto loss = [&] {
    embedding_forward<double>(shape, tokens, token_table, position_table, out);
    return dot(out, d_out);
  };
  Vector d_token(token_table.size()), d_position(position_table.size());
  embedding_backward<double>(shape, tokens, d_out, d_token, d_position);
  expect_gradient("token_table", token_table, d_token, loss);
  expect_gradient("position_table", position_table, d_position, loss);
}

TEST(Residual, AddsBranchAndBias) {
  const Vector x{1, 2, 3, 4}, delta{10, 20, 30, 40}, bias{100, 200};
  Vector out(4);
  add_residual<double>(x, delta, bias, out);
  EXPECT_THAT(out, testing::ElementsAre(111, 222, 133, 244));
}

TEST(Bias, IsAddedToRowsAndItsGradientIsTheirSum) {
  Vector y(20 * 3, 1.0), d_bias{1, 1, 1};
  const Vector bias{1, 2, 3};
  add_bias<double>(y, bias);
  EXPECT_EQ(y[58], 3.0);
  add_bias_gradient<double>(y, d_bias);
  EXPECT_THAT(d_bias, testing::ElementsAre(41, 61, 81));
}

// The paper's algorithm 2, element by element.
TEST(AdamW, FollowsThePaperOverSeveralSteps) {
  AdamW settings{.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.3, .gradient_scale = 0.5};
  Vector p = normal_numbers(6, 1), m(6), v(6), p_wanted = p, m_wanted(6), v_wanted(6);
  const std::vector<ElementRange> decays{{1, 2}, {4, 6}};
  for (std::int64_t step = 1; step <= 4; ++step) {
    const Vector g = normal_numbers(6, static_cast<std::uint32_t>(10 + step));
    settings.step = step;
    adamw_update<double>(settings, decays, g, p, m, v);
    for (std::size_t i = 0; i < 6; ++i) {
      const double gradient = 0.5 * g[i];
      const double decay = i == 1 || i >= 4 ? 0.3 : 0.0;
      m_wanted[i] = 0.8 * m_wanted[i] + 0.2 * gradient;
      v_wanted[i] = 0.95 * v_wanted[i] + 0.05 * gradient * gradient;
      const double m_hat = m_wanted[i] / (1 - std::pow(0.8, step));
      const double v_hat = v_wanted[i] / (1 - std::pow(0.95, step));
      p_wanted[i] -= 0.1 * (m_hat / (std::sqrt(v_hat) + 1e-6) + decay * p_wanted[i]);
    }
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(p[i], p_wanted[i], 1e-14) << i;
}

TEST(AdamW, RefusesRangesThatOverlapOrLeaveTheShard) {
  Vector p(4), m(4), v(4);
  const Vector g(4);
  for (const std::vector<ElementRange>& bad : {std::vector<ElementRange>{{0, 2}, {1, 3}}, {{2, 5}}, {{3, 2}}}) {
    EXPECT_THROW(adamw_update<double>(AdamW{}, bad, g, p, m, v), InvalidArgument);
  }
}

TEST(SquaredNorm, SumsInDoublePrecision) {
  const std::vector<float> values(100'000, 0.1F);
  // Sums of 1e5 terms in any order are off by at most 1e5 * 2^-53 of their 1000; in single precision by up to 10.
  EXPECT_NEAR(squared_norm<float>(values), 1e5 * static_cast<double>(0.1F) * static_cast<double>(0.1F), 1.2e-8);
}

TEST(Elementwise, ScalesAndAdds) {
  Vector a{1, 2, 3};
  scale<double>(a, 2);
  add<double>(a, Vector{1, 1, 1}, a);
  EXPECT_THAT(a, testing::ElementsAre(3, 5, 7));
}

TEST(Kernels, TakeNoRowsAtAll) {
  Vector none, bias{1, 2}, d{0, 0};
  layer_norm_forward<double>(none, bias, bias, none, none, none);
  layer_norm_backward<double>(none, none, bias, none, none, none, d, d);
  bias_gelu_forward<double>(none, bias, none);
  bias_gelu_backward<double>(none, none, none, d);
  softmax_cross_entropy<double>(none, {}, none, none);
  EXPECT_THAT(d, testing::ElementsAre(0, 0));
}

TEST(Kernels, NameTheOperandThatDoesNotFit) {
  Vector x(6), weight(3), y(5), mean(2);
  try {
    layer_norm_forward<double>(x, weight, weight, y, mean, mean);
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("layer_norm_forward: y has 5 elements, the shapes ask for 6"));
  }
}

}  // namespace
}  // namespace twinax::tensor
