#include <cstddef>

#include "twinax/tensor/kernels.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/functors/cross_entropy.hpp"
#include "tensor/functors/elementwise.hpp"
#include "tensor/functors/gelu.hpp"
#include "tensor/functors/layer_norm.hpp"
#include "tensor/functors/rms_norm.hpp"

namespace twinax::tensor {
namespace {

std::int64_t count(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

/// The rows of a matrix of `size` elements and `columns` columns, which must divide it.
std::int64_t rows_of(std::string_view kernel, std::string_view operand, std::size_t size, std::size_t columns) {
  const std::int64_t rows = columns == 0 ? 0 : count(size / columns);
  check_size(kernel, operand, size, rows * count(columns));
  return rows;
}

}  // namespace

template <class Real>
void layer_norm_forward(std::span<const Real> x, std::span<const Real> weight, std::span<const Real> bias, std::span<Real> y,
                        std::span<Real> mean, std::span<Real> rstd) {
  const std::int64_t columns = count(weight.size());
  const std::int64_t rows = count(mean.size());
  check_size("layer_norm_forward", "x", x.size(), rows * columns);
  check_size("layer_norm_forward", "y", y.size(), rows * columns);
  check_size("layer_norm_forward", "bias", bias.size(), columns);
  check_size("layer_norm_forward", "rstd", rstd.size(), rows);
  for_each_row(rows, LayerNormForward<Real>{x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data(), columns});
}

template <class Real>
void layer_norm_backward(std::span<const Real> d_y, std::span<const Real> x, std::span<const Real> weight, std::span<const Real> mean,
                         std::span<const Real> rstd, std::span<Real> d_x, std::span<Real> d_weight, std::span<Real> d_bias) {
  const std::int64_t columns = count(weight.size());
  const std::int64_t rows = count(mean.size());
  check_size("layer_norm_backward", "d_y", d_y.size(), rows * columns);
  check_size("layer_norm_backward", "x", x.size(), rows * columns);
  check_size("layer_norm_backward", "d_x", d_x.size(), rows * columns);
  check_size("layer_norm_backward", "rstd", rstd.size(), rows);
  check_size("layer_norm_backward", "d_weight", d_weight.size(), columns);
  check_size("layer_norm_backward", "d_bias", d_bias.size(), columns);
  for_each_row(rows, LayerNormBackward<Real>{d_y.data(), x.data(), weight.data(), mean.data(), rstd.data(), d_x.data(), columns});
  const Real* const d = d_y.data();
  const Real* const in = x.data();
  const Real* const m = mean.data();
  const Real* const r = rstd.data();
  sum_rows(
      rows, columns,
      [=](std::int64_t row, std::int64_t column) { return d[row * columns + column] * (in[row * columns + column] - m[row]) * r[row]; },
      d_weight.data());
  add_bias_gradient(d_y, d_bias);
}

template <class Real>
void rms_norm_forward(std::span<const Real> x, std::span<const Real> weight, std::span<Real> y, std::span<Real> rstd) {
  const std::int64_t columns = count(weight.size());
  const std::int64_t rows = count(rstd.size());
  check_size("rms_norm_forward", "x", x.size(), rows * columns);
  check_size("rms_norm_forward", "y", y.size(), rows * columns);
  for_each_row(rows, RmsNormForward<Real>{x.data(), weight.data(), y.data(), rstd.data(), columns});
}

template <class Real>
void rms_norm_backward(std::span<const Real> d_y, std::span<const Real> x, std::span<const Real> weight, std::span<const Real> rstd,
                       std::span<Real> d_x, std::span<Real> d_weight) {
  const std::int64_t columns = count(weight.size());
  const std::int64_t rows = count(rstd.size());
  check_size("rms_norm_backward", "d_y", d_y.size(), rows * columns);
  check_size("rms_norm_backward", "x", x.size(), rows * columns);
  check_size("rms_norm_backward", "d_x", d_x.size(), rows * columns);
  check_size("rms_norm_backward", "d_weight", d_weight.size(), columns);
  for_each_row(rows, RmsNormBackward<Real>{d_y.data(), x.data(), weight.data(), rstd.data(), d_x.data(), columns});
  const Real* const d = d_y.data();
  const Real* const in = x.data();
  const Real* const r = rstd.data();
  sum_rows(
      rows, columns, [=](std::int64_t row, std::int64_t column) { return d[row * columns + column] * in[row * columns + column] * r[row]; },
      d_weight.data());
}

template <class Real>
void add_bias(std::span<Real> y, std::span<const Real> bias) {
  const std::int64_t rows = rows_of("add_bias", "y", y.size(), bias.size());
  for_each_row(rows, AddBias<Real>{y.data(), bias.data(), count(bias.size())});
}

template <class Real>
void add_bias_gradient(std::span<const Real> d_y, std::span<Real> d_bias) {
  const std::int64_t columns = count(d_bias.size());
  const std::int64_t rows = rows_of("add_bias_gradient", "d_y", d_y.size(), d_bias.size());
  const Real* const d = d_y.data();
  sum_rows(
      rows, columns, [=](std::int64_t row, std::int64_t column) { return d[row * columns + column]; }, d_bias.data());
}

template <class Real>
void add_residual(std::span<const Real> x, std::span<const Real> delta, std::span<const Real> bias, std::span<Real> out) {
  const std::int64_t rows = rows_of("add_residual", "x", x.size(), bias.size());
  check_size("add_residual", "delta", delta.size(), count(x.size()));
  check_size("add_residual", "out", out.size(), count(x.size()));
  for_each_row(rows, AddResidual<Real>{x.data(), delta.data(), bias.data(), out.data(), count(bias.size())});
}

template <class Real>
void bias_gelu_forward(std::span<Real> u, std::span<const Real> bias, std::span<Real> g) {
  const std::int64_t rows = rows_of("bias_gelu_forward", "u", u.size(), bias.size());
  check_size("bias_gelu_forward", "g", g.size(), count(u.size()));
  for_each_row(rows, BiasGeluForward<Real>{u.data(), bias.data(), g.data(), count(bias.size())});
}

template <class Real>
void bias_gelu_backward(std::span<const Real> u, std::span<Real> d_g, std::span<Real> g, std::span<Real> d_bias) {
  const std::int64_t columns = count(d_bias.size());
  const std::int64_t rows = rows_of("bias_gelu_backward", "u", u.size(), d_bias.size());
  check_size("bias_gelu_backward", "d_g", d_g.size(), count(u.size()));
  check_size("bias_gelu_backward", "g", g.size(), count(u.size()));
  constexpr std::int64_t kRowsInCache = 8;  // the rows just written are summed while they are near
  for (std::int64_t row = 0; row < rows; row += kRowsInCache) {
    const std::int64_t now = std::min(kRowsInCache, rows - row);
    const std::int64_t begin = row * columns;
    for_each_row(now, GeluBackward<Real>{u.data() + begin, d_g.data() + begin, g.data() + begin, columns});
    add_bias_gradient(std::span<const Real>(d_g.data() + begin, static_cast<std::size_t>(now * columns)), d_bias);
  }
}

template <class Real>
void gated_gelu_forward(std::int64_t width, std::span<const Real> u_gate, std::span<Real> out) {
  const std::int64_t rows = rows_of("gated_gelu_forward", "out", out.size(), static_cast<std::size_t>(width));
  check_size("gated_gelu_forward", "u_gate", u_gate.size(), rows * 2 * width);
  for_each_row(rows, GatedGeluForward<Real>{u_gate.data(), out.data(), width});
}

template <class Real>
void gated_gelu_backward(std::int64_t width, std::span<const Real> u_gate, std::span<const Real> d_out, std::span<Real> d_u_gate,
                         std::span<Real> out) {
  const std::int64_t rows = rows_of("gated_gelu_backward", "out", out.size(), static_cast<std::size_t>(width));
  check_size("gated_gelu_backward", "d_out", d_out.size(), rows * width);
  check_size("gated_gelu_backward", "u_gate", u_gate.size(), rows * 2 * width);
  check_size("gated_gelu_backward", "d_u_gate", d_u_gate.size(), rows * 2 * width);
  for_each_row(rows, GatedGeluBackward<Real>{u_gate.data(), d_out.data(), d_u_gate.data(), out.data(), width});
}

template <class Real>
void softmax_cross_entropy(std::span<Real> logits, std::span<const std::int32_t> targets, std::span<Real> losses,
                           std::span<Real> normalizers) {
  const std::int64_t rows = count(targets.size());
  const std::int64_t columns = rows == 0 ? 0 : count(logits.size()) / rows;
  check_size("softmax_cross_entropy", "logits", logits.size(), rows * columns);
  check_size("softmax_cross_entropy", "losses", losses.size(), rows);
  check_size("softmax_cross_entropy", "normalizers", normalizers.size(), rows);
  for_each_row(rows, SoftmaxCrossEntropy<Real>{logits.data(), targets.data(), losses.data(), normalizers.data(), columns});
}

template <class Real>
void divide_rows(std::span<const Real> x, std::span<const Real> divisors, Real factor, std::span<Real> out) {
  const std::int64_t rows = count(divisors.size());
  const std::int64_t columns = rows == 0 ? 0 : count(x.size()) / rows;
  check_size("divide_rows", "x", x.size(), rows * columns);
  check_size("divide_rows", "out", out.size(), rows * columns);
  for_each_row(rows, DivideRows<Real>{x.data(), divisors.data(), factor, out.data(), columns});
}

#define TWINAX_INSTANTIATE(Real)                                                                                                         \
  template void layer_norm_forward<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<Real>,           \
                                         std::span<Real>, std::span<Real>);                                                              \
  template void layer_norm_backward<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<const Real>,    \
                                          std::span<const Real>, std::span<Real>, std::span<Real>, std::span<Real>);                     \
  template void rms_norm_forward<Real>(std::span<const Real>, std::span<const Real>, std::span<Real>, std::span<Real>);                  \
  template void rms_norm_backward<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<const Real>,      \
                                        std::span<Real>, std::span<Real>);                                                               \
  template void gated_gelu_forward<Real>(std::int64_t, std::span<const Real>, std::span<Real>);                                          \
  template void gated_gelu_backward<Real>(std::int64_t, std::span<const Real>, std::span<const Real>, std::span<Real>, std::span<Real>); \
  template void add_bias<Real>(std::span<Real>, std::span<const Real>);                                                                  \
  template void add_bias_gradient<Real>(std::span<const Real>, std::span<Real>);                                                         \
  template void add_residual<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, std::span<Real>);                \
  template void bias_gelu_forward<Real>(std::span<Real>, std::span<const Real>, std::span<Real>);                                        \
  template void bias_gelu_backward<Real>(std::span<const Real>, std::span<Real>, std::span<Real>, std::span<Real>);                      \
  template void softmax_cross_entropy<Real>(std::span<Real>, std::span<const std::int32_t>, std::span<Real>, std::span<Real>);           \
  template void divide_rows<Real>(std::span<const Real>, std::span<const Real>, Real, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
