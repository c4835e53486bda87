#include <cmath>
#include <cstddef>
#include <string>

#include "twinax/tensor/kernels.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/cpu/attention_panels.hpp"
#include "tensor/cpu/attention_softmax.hpp"

// One head at a time, kQueries queries at a time; a block of queries looks at the keys up to its own last row only, and its scores stay in
// the core's cache. Letters as in attention_panels.hpp; K keys that a block sees.
namespace twinax::tensor {
namespace {

template <class Real>
struct ForwardPanels {
  Real *keys, *values;                       // [P, E]
  Real *queries, *queries_transposed, *out;  // [kQueries, E], [D, kQueries], [kQueries, E]
  Real* scores;                              // [P, kQueries]
  ForwardPanels(const HeadShape<Real>& s, Carver<Real> carver)
      : keys(carver.take(s.padded_length * s.padded_width)),
        values(carver.take(s.padded_length * s.padded_width)),
        queries(carver.take(kQueries * s.padded_width)),
        queries_transposed(carver.take(s.head_width * kQueries)),
        out(carver.take(kQueries * s.padded_width)),
        scores(carver.take(s.padded_length * kQueries)) {}
};

/// One head: q, k, v [T, D] rows 3 `width` apart to out [T, D] rows `width` apart and log_sum [T].
template <class Real>
void head_forward(const HeadShape<Real>& s, const ForwardPanels<Real>& p, const Real* qkv, std::int64_t width, Real* out, Real* log_sum) {
  const std::int64_t stride = 3 * width;
  const std::int64_t e = s.padded_width;
  const Real root = Real(1) / std::sqrt(static_cast<Real>(s.head_width));
  pack_rows(s, qkv + width, stride, Real(1), s.length, s.padded_length, p.keys);
  pack_rows(s, qkv + 2 * width, stride, Real(1), s.length, s.padded_length, p.values);
  for (std::int64_t begin = 0; begin < s.length; begin += kQueries) {
    const std::int64_t rows = std::min(kQueries, s.length - begin);
    const std::int64_t keys = begin + kQueries;
    pack_rows(s, qkv + begin * stride, stride, root, rows, kQueries, p.queries);
    transpose_block(s, p.queries, p.queries_transposed);
    small_product(keys, kQueries, s.head_width, LeftOperand<Real>{p.keys, e, 1}, p.queries_transposed, kQueries, p.scores, kQueries, false);
    hide_future(keys, p.scores);
    Real totals[kQueries];
    Real largest[kQueries];
    exponentials(keys, p.scores, totals, largest);
    small_product(kQueries, e, keys, LeftOperand<Real>{p.scores, 1, kQueries}, p.values, e, p.out, e, false);
    for (std::int64_t i = 0; i < rows; ++i) {
      log_sum[begin + i] = largest[i] + std::log(totals[i]);
      unpack_rows(s, p.out + i * e, Real(1) / totals[i], 1, out + (begin + i) * width, width);
    }
  }
}

template <class Real>
struct BackwardPanels {
  Real *keys, *values, *d_keys, *d_values;      // [P, E]
  Real *queries, *d_out, *d_queries;            // [kQueries, E]
  Real *queries_transposed, *d_out_transposed;  // [D, kQueries]
  Real *weights, *d_scores;                     // [P, kQueries]
  BackwardPanels(const HeadShape<Real>& s, Carver<Real> carver) {
    for (Real** panel : {&keys, &values, &d_keys, &d_values}) *panel = carver.take(s.padded_length * s.padded_width);
    for (Real** panel : {&queries, &d_out, &d_queries}) *panel = carver.take(kQueries * s.padded_width);
    for (Real** panel : {&queries_transposed, &d_out_transposed}) *panel = carver.take(s.head_width * kQueries);
    for (Real** panel : {&weights, &d_scores}) *panel = carver.take(s.padded_length * kQueries);
  }
};

/// The block of queries packed in `p` that sees `keys` keys: adds to d_keys and d_values, sets d_queries.
template <class Real>
void block_backward(const HeadShape<Real>& s, const BackwardPanels<Real>& p, std::int64_t keys, const Real* log_sum, const Real* dots) {
  const std::int64_t e = s.padded_width;
  const std::int64_t d = s.head_width;
  transpose_block(s, p.queries, p.queries_transposed);
  transpose_block(s, p.d_out, p.d_out_transposed);
  small_product(keys, kQueries, d, LeftOperand<Real>{p.keys, e, 1}, p.queries_transposed, kQueries, p.weights, kQueries, false);
  small_product(keys, kQueries, d, LeftOperand<Real>{p.values, e, 1}, p.d_out_transposed, kQueries, p.d_scores, kQueries, false);
  hide_future(keys, p.weights);
  softmax_backward(keys, log_sum, dots, p.weights, p.d_scores);
  small_product(keys, e, kQueries, LeftOperand<Real>{p.weights, kQueries, 1}, p.d_out, e, p.d_values, e, true);
  small_product(keys, e, kQueries, LeftOperand<Real>{p.d_scores, kQueries, 1}, p.queries, e, p.d_keys, e, true);
  small_product(kQueries, e, keys, LeftOperand<Real>{p.d_scores, 1, kQueries}, p.keys, e, p.d_queries, e, false);
}

/// One head: the gradients of q, k, v [T, D] rows 3 `width` apart, from d_out and out [T, D] rows `width` apart.
template <class Real>
void head_backward(const HeadShape<Real>& s, const BackwardPanels<Real>& p, const Real* d_out, const Real* qkv, const Real* out,
                   std::int64_t width, const Real* log_sum, Real* d_qkv) {
  const std::int64_t stride = 3 * width;
  const Real root = Real(1) / std::sqrt(static_cast<Real>(s.head_width));
  pack_rows(s, qkv + width, stride, Real(1), s.length, s.padded_length, p.keys);
  pack_rows(s, qkv + 2 * width, stride, Real(1), s.length, s.padded_length, p.values);
  std::fill_n(p.d_keys, s.padded_length * s.padded_width, Real(0));
  std::fill_n(p.d_values, s.padded_length * s.padded_width, Real(0));
  for (std::int64_t begin = 0; begin < s.length; begin += kQueries) {
    const std::int64_t rows = std::min(kQueries, s.length - begin);
    Real dots[kQueries] = {};
    Real log_sums[kQueries] = {};  // of padding: its queries and d_out are zero, so it adds nothing
    row_dots(s, rows, d_out + begin * width, out + begin * width, width, dots);
    std::copy_n(log_sum + begin, rows, log_sums);
    pack_rows(s, qkv + begin * stride, stride, root, rows, kQueries, p.queries);
    pack_rows(s, d_out + begin * width, width, Real(1), rows, kQueries, p.d_out);
    block_backward(s, p, begin + kQueries, log_sums, dots);
    unpack_rows(s, p.d_queries, root, rows, d_qkv + begin * stride, stride);
  }
  unpack_rows(s, p.d_keys, Real(1), s.length, d_qkv + width, stride);
  unpack_rows(s, p.d_values, Real(1), s.length, d_qkv + 2 * width, stride);
}

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

}  // namespace

std::int64_t attention_scratch(std::int64_t length, std::int64_t head_width) {
  const std::int64_t p = round_up(length, kQueries);
  const std::int64_t e = round_up(head_width, 16);
  return 4 * p * e + 3 * kQueries * e + 2 * e * kQueries + 2 * p * kQueries;
}

template <class Real>
void attention_forward(const BatchShape& shape, std::int64_t heads, std::span<const Real> qkv, std::span<Real> out, std::span<Real> log_sum,
                       std::span<Real> scratch) {
  check_attention("attention_forward", shape, heads, qkv.size(), out.size(), log_sum.size());
  const HeadShape<Real> s(shape.length, shape.width / heads);
  const ForwardPanels<Real> panels(s, Carver<Real>(scratch));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t first = b * shape.length * shape.width;
      head_forward(s, panels, qkv.data() + 3 * first + h * s.head_width, shape.width, out.data() + first + h * s.head_width,
                   log_sum.data() + (b * heads + h) * shape.length);
    }
  }
}

template <class Real>
void attention_backward(const BatchShape& shape, std::int64_t heads, std::span<const Real> d_out, std::span<const Real> qkv,
                        std::span<const Real> out, std::span<const Real> log_sum, std::span<Real> d_qkv, std::span<Real> scratch) {
  check_attention("attention_backward", shape, heads, qkv.size(), out.size(), log_sum.size());
  check_size("attention_backward", "d_out", d_out.size(), static_cast<std::int64_t>(out.size()));
  check_size("attention_backward", "d_qkv", d_qkv.size(), static_cast<std::int64_t>(qkv.size()));
  const HeadShape<Real> s(shape.length, shape.width / heads);
  const BackwardPanels<Real> panels(s, Carver<Real>(scratch));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t first = b * shape.length * shape.width;
      const std::int64_t column = h * s.head_width;
      head_backward(s, panels, d_out.data() + first + column, qkv.data() + 3 * first + column, out.data() + first + column, shape.width,
                    log_sum.data() + (b * heads + h) * shape.length, d_qkv.data() + 3 * first + column);
    }
  }
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
