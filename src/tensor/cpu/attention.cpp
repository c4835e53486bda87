#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "tensor/check_sizes.hpp"
#include "tensor/cpu/small_product.hpp"
#include "tensor/functors/exponential.hpp"

// One head at a time is copied into contiguous panels, padded with zeroes so that the products need no remainders. Queries go by blocks of
// kBlock rows, whose scores stay in the core's cache; a block looks at the keys up to its own last row only. Padded shapes: P = T rounded
// up to kBlock, E = D rounded up to a vector.
namespace twinax::tensor {
namespace {

constexpr std::int64_t kBlock = 32;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// The sizes of one head's panels.
template <class Real>
struct HeadShape {
  std::int64_t length, padded_length;     // T, P
  std::int64_t head_width, padded_width;  // D, E
  HeadShape(std::int64_t t, std::int64_t d)
      : length(t), padded_length(round_up(t, kBlock)), head_width(d), padded_width(round_up(d, VectorOf<Real>::kLanes)) {}
};

/// Hands out pieces of the caller's scratch, each at a vector's boundary relative to the first.
template <class Real>
class Carver {
 public:
  explicit Carver(std::span<Real> scratch) : rest_(scratch) {}
  Real* take(std::int64_t elements) {
    const auto wanted = static_cast<std::size_t>(round_up(elements, 16));
    if (rest_.size() < wanted) throw InvalidArgument("attention: the scratch is too small; attention_scratch() says how much it takes");
    Real* const piece = rest_.data();
    rest_ = rest_.subspan(wanted);
    return piece;
  }

 private:
  std::span<Real> rest_;
};

/// to [P, E] = factor * from [T, D] (rows `stride` apart), zero outside.
template <class Real>
void pack_rows(const HeadShape<Real>& s, const Real* from, std::int64_t stride, Real factor, Real* to) {
  for (std::int64_t t = 0; t < s.length; ++t) {
    Real* const row = to + t * s.padded_width;
    TWINAX_SIMD
    for (std::int64_t d = 0; d < s.head_width; ++d) row[d] = factor * from[t * stride + d];
    std::fill(row + s.head_width, row + s.padded_width, Real(0));
  }
  std::fill(to + s.length * s.padded_width, to + s.padded_length * s.padded_width, Real(0));
}

/// to [D, P] = the transpose of from [T, D] (rows `stride` apart), zero outside.
template <class Real>
void pack_columns(const HeadShape<Real>& s, const Real* from, std::int64_t stride, Real* to) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t begin = 0; begin < s.padded_length; begin += kTile) {
    const std::int64_t end = std::min(begin + kTile, s.length);
    for (std::int64_t d = 0; d < s.head_width; ++d) {
      Real* const row = to + d * s.padded_length;
      for (std::int64_t t = begin; t < end; ++t) row[t] = from[t * stride + d];
      for (std::int64_t t = std::max(begin, s.length); t < begin + kTile; ++t) row[t] = 0;
    }
  }
}

/// out [T, D] (rows `stride` apart) = factor * from [T, E].
template <class Real>
void unpack_rows(const HeadShape<Real>& s, const Real* from, Real factor, Real* out, std::int64_t stride) {
  for (std::int64_t t = 0; t < s.length; ++t) {
    TWINAX_SIMD
    for (std::int64_t d = 0; d < s.head_width; ++d) out[t * stride + d] = factor * from[t * s.padded_width + d];
  }
}

/// Hides the scores of keys after position `row` from exponential(), up to a whole vector; returns the number of scores to look at. Whole
/// vectors need no remainder loops.
template <class Real>
std::int64_t hide_future(Real* scores, std::int64_t row) {
  const std::int64_t seen = round_up(row + 1, VectorOf<Real>::kLanes);
  std::fill(scores + row + 1, scores + seen, static_cast<Real>(-1e30));
  return seen;
}

/// scores [columns] of the query at position `row` become exp(score - largest), 0 after `row`; returns the sum, and the largest in
/// `largest`.
template <class Real>
Real exponentials(Real* scores, std::int64_t row, std::int64_t columns, Real& largest) {
  const std::int64_t seen = hide_future(scores, row);
  Real most = scores[0];
  TWINAX_SIMD_REDUCTION(max, most)
  for (std::int64_t j = 0; j < seen; ++j) most = most < scores[j] ? scores[j] : most;
  Real total = 0;
  TWINAX_SIMD_REDUCTION(+, total)
  for (std::int64_t j = 0; j < seen; ++j) {
    const Real e = exponential(scores[j] - most);
    scores[j] = e;
    total += e;
  }
  std::fill(scores + seen, scores + columns, Real(0));
  largest = most;
  return total;
}

template <class Real>
struct ForwardPanels {
  Real *queries, *keys, *values, *scores, *out;  // [P, E], [D, P], [P, E], [kBlock, P], [kBlock, E]
  ForwardPanels(const HeadShape<Real>& s, Carver<Real> carver)
      : queries(carver.take(s.padded_length * s.padded_width)),
        keys(carver.take(s.head_width * s.padded_length)),
        values(carver.take(s.padded_length * s.padded_width)),
        scores(carver.take(kBlock * s.padded_length)),
        out(carver.take(kBlock * s.padded_width)) {}
};

/// One head: q, k, v [T, D] rows `stride` apart to out [T, D] rows `width` apart and log_sum [T].
template <class Real>
void head_forward(const HeadShape<Real>& s, const ForwardPanels<Real>& panels, const Real* qkv, std::int64_t width, Real* out,
                  Real* log_sum) {
  const std::int64_t stride = 3 * width;
  const Real root = Real(1) / std::sqrt(static_cast<Real>(s.head_width));
  pack_rows(s, qkv, stride, root, panels.queries);
  pack_columns(s, qkv + width, stride, panels.keys);
  pack_rows(s, qkv + 2 * width, stride, Real(1), panels.values);
  for (std::int64_t begin = 0; begin < s.length; begin += kBlock) {
    const std::int64_t keys = begin + kBlock;
    const LeftOperand<Real> queries{panels.queries + begin * s.padded_width, s.padded_width, 1};
    small_product(kBlock, keys, s.head_width, queries, panels.keys, s.padded_length, panels.scores, s.padded_length, false);
    const std::int64_t rows = std::min(kBlock, s.length - begin);
    Real totals[kBlock];
    for (std::int64_t i = 0; i < rows; ++i) {
      Real largest = 0;
      totals[i] = exponentials(panels.scores + i * s.padded_length, begin + i, keys, largest);
      log_sum[begin + i] = largest + std::log(totals[i]);
    }
    const LeftOperand<Real> weights{panels.scores, s.padded_length, 1};
    small_product(kBlock, s.padded_width, keys, weights, panels.values, s.padded_width, panels.out, s.padded_width, false);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Real share = Real(1) / totals[i];
      Real* const to = out + (begin + i) * width;
      const Real* const from = panels.out + i * s.padded_width;
      TWINAX_SIMD
      for (std::int64_t d = 0; d < s.head_width; ++d) to[d] = from[d] * share;
    }
  }
}

template <class Real>
struct BackwardPanels {
  Real *queries, *keys, *d_out;               // [P, E]
  Real *keys_transposed, *values_transposed;  // [D, P]
  Real *weights, *d_scores;                   // [kBlock, P]
  Real *d_queries, *d_keys, *d_values;        // [P, E]
  BackwardPanels(const HeadShape<Real>& s, Carver<Real> carver)
      : queries(carver.take(s.padded_length * s.padded_width)),
        keys(carver.take(s.padded_length * s.padded_width)),
        d_out(carver.take(s.padded_length * s.padded_width)),
        keys_transposed(carver.take(s.head_width * s.padded_length)),
        values_transposed(carver.take(s.head_width * s.padded_length)),
        weights(carver.take(kBlock * s.padded_length)),
        d_scores(carver.take(kBlock * s.padded_length)),
        d_queries(carver.take(s.padded_length * s.padded_width)),
        d_keys(carver.take(s.padded_length * s.padded_width)),
        d_values(carver.take(s.padded_length * s.padded_width)) {}
};

/// One block of queries from `begin`: its share of d_keys and d_values, and its d_queries.
template <class Real>
void block_backward(const HeadShape<Real>& s, const BackwardPanels<Real>& p, std::int64_t begin, const Real* log_sum, const Real* dots) {
  const std::int64_t keys = begin + kBlock;
  const LeftOperand<Real> queries{p.queries + begin * s.padded_width, s.padded_width, 1};
  const LeftOperand<Real> d_out{p.d_out + begin * s.padded_width, s.padded_width, 1};
  small_product(kBlock, keys, s.head_width, queries, p.keys_transposed, s.padded_length, p.weights, s.padded_length, false);
  small_product(kBlock, keys, s.head_width, d_out, p.values_transposed, s.padded_length, p.d_scores, s.padded_length, false);
  for (std::int64_t i = 0; i < kBlock; ++i) {
    const std::int64_t row = begin + i;
    Real* const weights = p.weights + i * s.padded_length;
    Real* const d_scores = p.d_scores + i * s.padded_length;
    const bool padding = row >= s.length;
    const std::int64_t seen = padding ? 0 : hide_future(weights, row);
    const Real log_total = padding ? Real(0) : log_sum[row];
    const Real dot = padding ? Real(0) : dots[row];
    TWINAX_SIMD
    for (std::int64_t j = 0; j < seen; ++j) {
      const Real weight = exponential(weights[j] - log_total);
      weights[j] = weight;
      d_scores[j] = weight * (d_scores[j] - dot);
    }
    std::fill(weights + seen, weights + keys, Real(0));
    std::fill(d_scores + seen, d_scores + keys, Real(0));
  }
  const LeftOperand<Real> weights_transposed{p.weights, 1, s.padded_length};
  const LeftOperand<Real> d_scores_transposed{p.d_scores, 1, s.padded_length};
  const LeftOperand<Real> d_scores{p.d_scores, s.padded_length, 1};
  const std::int64_t e = s.padded_width;
  small_product(keys, e, kBlock, weights_transposed, p.d_out + begin * e, e, p.d_values, e, true);
  small_product(keys, e, kBlock, d_scores_transposed, p.queries + begin * e, e, p.d_keys, e, true);
  small_product(kBlock, e, keys, d_scores, p.keys, e, p.d_queries + begin * e, e, false);
}

/// One head: the gradients of q, k, v [T, D] rows `3 * width` apart from d_out and out [T, D] rows `width` apart.
template <class Real>
void head_backward(const HeadShape<Real>& s, const BackwardPanels<Real>& p, const Real* d_out, const Real* qkv, const Real* out,
                   std::int64_t width, const Real* log_sum, Real* dots, Real* d_qkv) {
  const std::int64_t stride = 3 * width;
  const Real root = Real(1) / std::sqrt(static_cast<Real>(s.head_width));
  pack_rows(s, qkv, stride, root, p.queries);
  pack_rows(s, qkv + width, stride, Real(1), p.keys);
  pack_columns(s, qkv + width, stride, p.keys_transposed);
  pack_columns(s, qkv + 2 * width, stride, p.values_transposed);
  pack_rows(s, d_out, width, Real(1), p.d_out);
  std::fill_n(p.d_keys, s.padded_length * s.padded_width, Real(0));
  std::fill_n(p.d_values, s.padded_length * s.padded_width, Real(0));
  for (std::int64_t t = 0; t < s.length; ++t) {
    Real dot = 0;
    TWINAX_SIMD_REDUCTION(+, dot)
    for (std::int64_t d = 0; d < s.head_width; ++d) dot += d_out[t * width + d] * out[t * width + d];
    dots[t] = dot;
  }
  for (std::int64_t begin = 0; begin < s.length; begin += kBlock) block_backward(s, p, begin, log_sum, dots);
  unpack_rows(s, p.d_queries, root, d_qkv, stride);
  unpack_rows(s, p.d_keys, Real(1), d_qkv + width, stride);
  unpack_rows(s, p.d_values, Real(1), d_qkv + 2 * width, stride);
}

template <class Real>
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
  const std::int64_t p = round_up(length, kBlock);
  const std::int64_t e = round_up(head_width, 16);
  return 6 * p * e + 2 * head_width * p + 2 * kBlock * p + round_up(length, 16) + 16 * 16;
}

template <class Real>
void attention_forward(const BatchShape& shape, std::int64_t heads, std::span<const Real> qkv, std::span<Real> out, std::span<Real> log_sum,
                       std::span<Real> scratch) {
  check_attention<Real>("attention_forward", shape, heads, qkv.size(), out.size(), log_sum.size());
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
  check_attention<Real>("attention_backward", shape, heads, qkv.size(), out.size(), log_sum.size());
  check_size("attention_backward", "d_out", d_out.size(), static_cast<std::int64_t>(out.size()));
  check_size("attention_backward", "d_qkv", d_qkv.size(), static_cast<std::int64_t>(qkv.size()));
  const HeadShape<Real> s(shape.length, shape.width / heads);
  Carver<Real> carver(scratch);
  Real* const dots = carver.take(shape.length);
  const BackwardPanels<Real> panels(s, carver);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t first = b * shape.length * shape.width + h * s.head_width;
      const std::int64_t first_qkv = 3 * b * shape.length * shape.width + h * s.head_width;
      head_backward(s, panels, d_out.data() + first, qkv.data() + first_qkv, out.data() + first, shape.width,
                    log_sum.data() + (b * heads + h) * shape.length, dots, d_qkv.data() + first_qkv);
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
