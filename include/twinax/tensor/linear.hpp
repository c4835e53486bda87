#pragma once

#include <cstdint>
#include <span>

#include "twinax/tensor/matmul.hpp"

// Shapes: N rows, I inputs, O outputs; weights as [O, I].
namespace twinax::tensor {

/// The sizes of a linear layer's batch.
struct LinearShape {
  std::int64_t rows = 0;     ///< N
  std::int64_t inputs = 0;   ///< I
  std::int64_t outputs = 0;  ///< O
};

/// y [N, O] = x [N, I] weight [O, I]^T, without the bias: that is fused with what follows (add_bias, add_residual, bias_gelu_forward).
template <class Real>
void linear_forward(Matmul& matmul, const LinearShape& shape, std::span<const Real> x, std::span<const Real> weight, std::span<Real> y);
/// d_x [N, I] = d_y [N, O] weight [O, I].
template <class Real>
void linear_backward_input(Matmul& matmul, const LinearShape& shape, std::span<const Real> d_y, std::span<const Real> weight,
                           std::span<Real> d_x);
/// Adds d_y [N, O]^T x [N, I] to d_weight [O, I].
template <class Real>
void linear_backward_weight(Matmul& matmul, const LinearShape& shape, std::span<const Real> d_y, std::span<const Real> x,
                            std::span<Real> d_weight);
/// The three products above, for Matmul::prepare.
[[nodiscard]] std::vector<Product> linear_products(Precision precision, const LinearShape& shape);

}  // namespace twinax::tensor
