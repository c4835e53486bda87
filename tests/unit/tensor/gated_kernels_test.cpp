#include <cmath>
#include <numbers>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "support/central_differences.hpp"

namespace twinax::tensor {
namespace {

using test::dot;
using test::expect_gradient;
using test::normal_numbers;
using Vector = std::vector<double>;

TEST(RmsNorm, DividesEachRowByTheRootOfItsMeanSquare) {
  const Vector x = normal_numbers(3 * 50, 1, 4.0), weight = normal_numbers(50, 2);
  Vector y(150), rstd(3);
  rms_norm_forward<double>(x, weight, y, rstd);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto values = std::span(x).subspan(row * 50, 50);
    const double root = std::sqrt(dot(values, values) / 50 + 1e-6);
    EXPECT_NEAR(rstd[row], 1 / root, 1e-14);
    for (std::size_t column = 0; column < 50; ++column) {
      EXPECT_NEAR(y[row * 50 + column], values[column] / root * weight[column], 1e-13);
    }
  }
}

TEST(RmsNorm, KeepsARowOfZeroesZero) {
  const Vector x(8, 0.0), weight(8, 3.0);
  Vector y(8, 1.0), rstd(1);
  rms_norm_forward<double>(x, weight, y, rstd);
  EXPECT_THAT(y, testing::Each(0.0));
  EXPECT_NEAR(rstd[0], 1000, 1e-9) << "epsilon is 1e-6";
}

TEST(RmsNorm, BackwardAgreesWithCentralDifferencesAndAdds) {
  constexpr std::int64_t kRows = 11, kColumns = 5;  // 11: a block of eight rows and a remainder
  Vector x = normal_numbers(kRows * kColumns, 1), weight = normal_numbers(kColumns, 2);
  const Vector d_y = normal_numbers(kRows * kColumns, 4);
  Vector y(x.size()), rstd(kRows), d_x(x.size(), 0.5), d_weight(kColumns, 0.25);
  const auto loss = [&] {
    rms_norm_forward<double>(x, weight, y, rstd);
    return dot(y, d_y);
  };
  (void)loss();
  rms_norm_backward<double>(d_y, x, weight, rstd, d_x, d_weight);
  for (double& value : d_x) value -= 0.5;
  for (double& value : d_weight) value -= 0.25;
  expect_gradient("x", x, d_x, loss);
  expect_gradient("weight", weight, d_weight, loss);
}

TEST(RmsNorm, InSinglePrecisionAgreesWithDouble) {
  const Vector x = normal_numbers(7 * 33, 1), weight = normal_numbers(33, 2);
  const std::vector<float> x_single(x.begin(), x.end()), weight_single(weight.begin(), weight.end());
  Vector y(x.size()), rstd(7);
  std::vector<float> y_single(x.size()), rstd_single(7);
  rms_norm_forward<double>(x, weight, y, rstd);
  rms_norm_forward<float>(x_single, weight_single, y_single, rstd_single);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y_single[i], y[i], 2e-6) << i;
}

TEST(GatedGelu, IsTheTanhFormTimesTheGate) {
  const Vector u{-30, -3, -1, -0.1, 0, 0.1, 1, 3, 30}, gate{1, 2, -1, 0.5, 7, -3, 0, 4, 0.25};
  Vector u_gate;  // three rows: u, then gate
  for (std::ptrdiff_t row = 0; row < 9; row += 3) {
    u_gate.insert(u_gate.end(), u.begin() + row, u.begin() + row + 3);
    u_gate.insert(u_gate.end(), gate.begin() + row, gate.begin() + row + 3);
  }
  Vector out(u.size());
  gated_gelu_forward<double>(3, u_gate, out);
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double gelu = 0.5 * u[i] * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (u[i] + 0.044715 * u[i] * u[i] * u[i])));
    EXPECT_NEAR(out[i], gelu * gate[i], 1e-14 * (1 + std::abs(out[i]))) << u[i];
  }
}

TEST(GatedGelu, BackwardAgreesWithCentralDifferencesAndWritesTheOutputAgain) {
  constexpr std::int64_t kRows = 3, kWidth = 7;
  Vector u_gate = normal_numbers(kRows * 2 * kWidth, 1);
  const Vector d_out = normal_numbers(kRows * kWidth, 3);
  Vector out(d_out.size()), d_u_gate(u_gate.size(), 99.0), again(d_out.size());
  const auto loss = [&] {
    gated_gelu_forward<double>(kWidth, u_gate, out);
    return dot(out, d_out);
  };
  (void)loss();
  gated_gelu_backward<double>(kWidth, u_gate, d_out, d_u_gate, again);
  EXPECT_EQ(again, out);
  expect_gradient("u and gate", u_gate, d_u_gate, loss);
}

TEST(Lookup, TakesTheTokensRowsAndAddsTheirGradientsBack) {
  const std::vector<std::int32_t> tokens{2, 0, 2};
  const Vector table{1, 2, 3, 4, 5, 6};
  Vector out(6);
  lookup_forward<double>(tokens, 2, table, out);
  EXPECT_EQ(out, (Vector{5, 6, 1, 2, 5, 6}));
  Vector d_table(6, 0.5);
  lookup_backward<double>(tokens, 2, Vector{10, 20, 30, 40, 50, 60}, d_table);
  EXPECT_EQ(d_table, (Vector{30.5, 40.5, 0.5, 0.5, 60.5, 80.5}));
}

TEST(GatedKernels, RefuseSizesThatDisagree) {
  std::vector<float> four(4), three(3), one(1);
  EXPECT_THROW(rms_norm_forward<float>(four, three, four, one), InvalidArgument);
  EXPECT_THROW(gated_gelu_forward<float>(2, four, four), InvalidArgument);
  EXPECT_THROW(lookup_forward<float>(std::vector<std::int32_t>{0, 1}, 3, four, four), InvalidArgument);
}

}  // namespace
}  // namespace twinax::tensor
