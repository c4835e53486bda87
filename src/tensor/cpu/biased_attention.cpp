#include "twinax/tensor/biased_attention.hpp"

#include <string>

#include "twinax/base/error.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/cpu/attention_heads.hpp"

namespace twinax::tensor {
namespace {

template <class T>
void check_operand(const char* kernel, const char* name, const Matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  if (matrix.rows == rows && matrix.columns == columns && fits(matrix)) return;
  throw InvalidArgument(std::string(kernel) + ": " + name + " is " + std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) +
                        " of " + std::to_string(matrix.data.size()) + " elements, the shapes ask for " + std::to_string(rows) + " x " +
                        std::to_string(columns));
}

template <class T>
void check_operands(const char* kernel, const AttentionShape& shape, const AttentionOperands<T>& operands) {
  if (shape.causal && shape.queries != shape.keys) {
    throw InvalidArgument(std::string(kernel) + ": causal attention of " + std::to_string(shape.queries) + " queries to " +
                          std::to_string(shape.keys) + " keys");
  }
  const std::int64_t columns = shape.heads * shape.head_width;
  check_operand(kernel, "q", operands.q, shape.batch * shape.queries, columns);
  check_operand(kernel, "k", operands.k, shape.batch * shape.keys, columns);
  check_operand(kernel, "v", operands.v, shape.batch * shape.keys, columns);
}

void check_sizes(const char* kernel, const AttentionShape& shape, std::size_t bias, std::size_t out, std::size_t log_sum) {
  if (bias != 0) check_size(kernel, "bias", bias, shape.heads * shape.distances());
  check_size(kernel, "out", out, shape.batch * shape.queries * shape.heads * shape.head_width);
  check_size(kernel, "log_sum", log_sum, shape.batch * shape.heads * shape.queries);
}

}  // namespace

std::int64_t biased_attention_scratch(const AttentionShape& shape) {
  return attend_scratch(shape.keys, shape.head_width);
}

template <class Real>
void biased_attention_forward(const AttentionShape& shape, const AttentionOperands<const Real>& in, std::span<const Real> bias,
                              std::span<Real> out, std::span<Real> log_sum, std::span<Real> scratch) {
  check_operands("biased_attention_forward", shape, in);
  check_sizes("biased_attention_forward", shape, bias.size(), out.size(), log_sum.size());
  attend_forward(shape, Real(1), in, bias, out, log_sum, scratch);
}

template <class Real>
void biased_attention_backward(const AttentionShape& shape, std::span<const Real> d_out, const AttentionOperands<const Real>& in,
                               std::span<const Real> bias, std::span<const Real> out, std::span<const Real> log_sum,
                               const AttentionOperands<Real>& gradients, std::span<Real> d_bias, std::span<Real> scratch) {
  check_operands("biased_attention_backward", shape, in);
  check_operands("biased_attention_backward", shape, gradients);
  check_sizes("biased_attention_backward", shape, bias.size(), out.size(), log_sum.size());
  check_size("biased_attention_backward", "d_out", d_out.size(), static_cast<std::int64_t>(out.size()));
  check_size("biased_attention_backward", "d_bias", d_bias.size(), static_cast<std::int64_t>(bias.size()));
  attend_backward(shape, Real(1), d_out, in, bias, out, log_sum, gradients, d_bias, scratch);
}

#define TWINAX_INSTANTIATE(Real)                                                                                                    \
  template void biased_attention_forward<Real>(const AttentionShape&, const AttentionOperands<const Real>&, std::span<const Real>,  \
                                               std::span<Real>, std::span<Real>, std::span<Real>);                                  \
  template void biased_attention_backward<Real>(const AttentionShape&, std::span<const Real>, const AttentionOperands<const Real>&, \
                                                std::span<const Real>, std::span<const Real>, std::span<const Real>,                \
                                                const AttentionOperands<Real>&, std::span<Real>, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
