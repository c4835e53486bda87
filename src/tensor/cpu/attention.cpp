#include <cmath>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/cpu/attention_heads.hpp"

namespace twinax::tensor {
namespace {

void check_attention(const char* kernel, const BatchShape& shape, std::int64_t heads, std::size_t qkv, std::size_t out,
                     std::size_t log_sum) {
  if (heads < 1 || shape.width % heads != 0) {
    throw InvalidArgument(std::string(kernel) + ": " + std::to_string(heads) + " heads do not divide a width of " +
                          std::to_string(shape.width));
  }
  const std::int64_t rows = shape.batch * shape.length;
  check_size(kernel, "qkv", qkv, rows * 3 * shape.width);
  check_size(kernel, "out", out, rows * shape.width);
  check_size(kernel, "log_sum", log_sum, rows * heads);
}

AttentionShape causal_shape(const BatchShape& shape, std::int64_t heads) {
  return {.batch = shape.batch,
          .queries = shape.length,
          .keys = shape.length,
          .heads = heads,
          .head_width = shape.width / heads,
          .causal = true};
}

/// q, k and v of qkv [N, 3C].
template <class T>
AttentionOperands<T> operands_of(std::span<T> qkv, std::int64_t width) {
  return {columns_of(qkv, 3 * width, 0, width), columns_of(qkv, 3 * width, width, width), columns_of(qkv, 3 * width, 2 * width, width)};
}

template <class Real>
Real scale_of(const AttentionShape& shape) {
  return Real(1) / std::sqrt(static_cast<Real>(shape.head_width));
}

}  // namespace

std::int64_t attention_scratch(std::int64_t length, std::int64_t head_width) {
  return attend_scratch(length, head_width);
}

template <class Real>
void attention_forward(const BatchShape& shape, std::int64_t heads, std::span<const Real> qkv, std::span<Real> out, std::span<Real> log_sum,
                       std::span<Real> scratch) {
  check_attention("attention_forward", shape, heads, qkv.size(), out.size(), log_sum.size());
  const AttentionShape causal = causal_shape(shape, heads);
  attend_forward<Real>(causal, scale_of<Real>(causal), operands_of(qkv, shape.width), {}, out, log_sum, scratch);
}

template <class Real>
void attention_backward(const BatchShape& shape, std::int64_t heads, std::span<const Real> d_out, std::span<const Real> qkv,
                        std::span<const Real> out, std::span<const Real> log_sum, std::span<Real> d_qkv, std::span<Real> scratch) {
  check_attention("attention_backward", shape, heads, qkv.size(), out.size(), log_sum.size());
  check_size("attention_backward", "d_out", d_out.size(), static_cast<std::int64_t>(out.size()));
  check_size("attention_backward", "d_qkv", d_qkv.size(), static_cast<std::int64_t>(qkv.size()));
  const AttentionShape causal = causal_shape(shape, heads);
  attend_backward<Real>(causal, scale_of<Real>(causal), d_out, operands_of(qkv, shape.width), {}, out, log_sum,
                        operands_of(d_qkv, shape.width), {}, scratch);
}

#define TWINAX_INSTANTIATE(Real)                                                                                                  \
  template void attention_forward<Real>(const BatchShape&, std::int64_t, std::span<const Real>, std::span<Real>, std::span<Real>, \
                                        std::span<Real>);                                                                         \
  template void attention_backward<Real>(const BatchShape&, std::int64_t, std::span<const Real>, std::span<const Real>,           \
                                         std::span<const Real>, std::span<const Real>, std::span<Real>, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
