#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "twinax/tensor/biased_attention.hpp"

#include "tensor/cpu/attention_panels.hpp"
#include "tensor/cpu/attention_softmax.hpp"

// Attention, one head at a time, kQueries queries at a time; a block of queries looks at no key that none of them sees, and its scores stay
// in the core's cache. Letters as in attention_panels.hpp and biased_attention.hpp: P = K rounded up to kQueries.
namespace twinax::tensor {

/// One head of one sequence: its matrices' first elements, and how far their rows are apart.
template <class Real>
struct Head {
  const Real *q, *k, *v;
  std::int64_t q_stride, k_stride, v_stride;
  const Real* bias;  // [Q + K - 1], or null
  Real scale;        // of scores
};

/// Keys that the block of queries from `begin` looks at, padded.
template <class Real>
std::int64_t keys_seen(const AttentionShape& shape, const HeadShape<Real>& s, std::int64_t begin) {
  return shape.causal ? begin + kQueries : s.padded_length;
}

/// Adds the bias of each distance to scores [`keys`, kQueries] of the queries from `begin`, and hides what they don't see.
template <class Real>
void bias_and_hide(const AttentionShape& shape, const Real* bias, std::int64_t begin, std::int64_t rows, std::int64_t keys, Real* scores) {
  const std::int64_t real_keys = std::min(keys, shape.keys);
  if (bias != nullptr) {
    for (std::int64_t key = 0; key < real_keys; ++key) {
      Real* const row = scores + key * kQueries;
      const Real* const by_query = bias + begin - key + shape.keys - 1;
      TWINAX_SIMD
      for (std::int64_t i = 0; i < rows; ++i) row[i] += by_query[i];
    }
  }
  if (shape.causal) {
    hide_future(keys, scores);
  } else {
    std::fill(scores + real_keys * kQueries, scores + keys * kQueries, kHidden<Real>);
  }
}

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

/// out [Q, D], rows `stride` apart, and log_sum [Q] of one head.
template <class Real>
void head_forward(const AttentionShape& shape, const HeadShape<Real>& s, const ForwardPanels<Real>& p, const Head<Real>& head, Real* out,
                  std::int64_t stride, Real* log_sum) {
  const std::int64_t e = s.padded_width;
  pack_rows(s, head.k, head.k_stride, Real(1), s.length, s.padded_length, p.keys);
  pack_rows(s, head.v, head.v_stride, Real(1), s.length, s.padded_length, p.values);
  for (std::int64_t begin = 0; begin < shape.queries; begin += kQueries) {
    const std::int64_t rows = std::min(kQueries, shape.queries - begin);
    const std::int64_t keys = keys_seen(shape, s, begin);
    pack_rows(s, head.q + begin * head.q_stride, head.q_stride, head.scale, rows, kQueries, p.queries);
    transpose_block(s, p.queries, p.queries_transposed);
    small_product(keys, kQueries, s.head_width, LeftOperand<Real>{p.keys, e, 1}, p.queries_transposed, kQueries, p.scores, kQueries, false);
    bias_and_hide(shape, head.bias, begin, rows, keys, p.scores);
    Real totals[kQueries];
    Real largest[kQueries];
    exponentials(keys, p.scores, totals, largest);
    small_product(kQueries, e, keys, LeftOperand<Real>{p.scores, 1, kQueries}, p.values, e, p.out, e, false);
    for (std::int64_t i = 0; i < rows; ++i) {
      log_sum[begin + i] = largest[i] + std::log(totals[i]);
      unpack_rows(s, p.out + i * e, Real(1) / totals[i], 1, out + (begin + i) * stride, stride);
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

/// The gradients of one head's operands and bias (null: none).
template <class Real>
struct HeadGradients {
  Real *q, *k, *v;
  std::int64_t q_stride, k_stride, v_stride;
  Real* bias;
};

/// Adds d_scores [`keys`, kQueries] of the queries from `begin` to the gradient of the bias of each distance.
template <class Real>
void add_bias_of_distances(const AttentionShape& shape, std::int64_t begin, std::int64_t rows, std::int64_t keys, const Real* d_scores,
                           Real* d_bias) {
  for (std::int64_t key = 0; key < std::min(keys, shape.keys); ++key) {
    const Real* const row = d_scores + key * kQueries;
    Real* const by_query = d_bias + begin - key + shape.keys - 1;
    TWINAX_SIMD
    for (std::int64_t i = 0; i < rows; ++i) by_query[i] += row[i];
  }
}

/// One head, from d_out and out [Q, D], rows `stride` apart.
template <class Real>
void head_backward(const AttentionShape& shape, const HeadShape<Real>& s, const BackwardPanels<Real>& p, const Head<Real>& head,
                   const Real* d_out, const Real* out, std::int64_t stride, const Real* log_sum, const HeadGradients<Real>& gradients) {
  const std::int64_t e = s.padded_width;
  const std::int64_t d = s.head_width;
  pack_rows(s, head.k, head.k_stride, Real(1), s.length, s.padded_length, p.keys);
  pack_rows(s, head.v, head.v_stride, Real(1), s.length, s.padded_length, p.values);
  std::fill_n(p.d_keys, s.padded_length * e, Real(0));
  std::fill_n(p.d_values, s.padded_length * e, Real(0));
  for (std::int64_t begin = 0; begin < shape.queries; begin += kQueries) {
    const std::int64_t rows = std::min(kQueries, shape.queries - begin);
    const std::int64_t keys = keys_seen(shape, s, begin);
    Real dots[kQueries] = {};
    Real log_sums[kQueries] = {};  // of padding: its queries and d_out are zero, so it adds nothing
    row_dots(s, rows, d_out + begin * stride, out + begin * stride, stride, dots);
    std::copy_n(log_sum + begin, rows, log_sums);
    pack_rows(s, head.q + begin * head.q_stride, head.q_stride, head.scale, rows, kQueries, p.queries);
    pack_rows(s, d_out + begin * stride, stride, Real(1), rows, kQueries, p.d_out);
    transpose_block(s, p.queries, p.queries_transposed);
    transpose_block(s, p.d_out, p.d_out_transposed);
    small_product(keys, kQueries, d, LeftOperand<Real>{p.keys, e, 1}, p.queries_transposed, kQueries, p.weights, kQueries, false);
    small_product(keys, kQueries, d, LeftOperand<Real>{p.values, e, 1}, p.d_out_transposed, kQueries, p.d_scores, kQueries, false);
    bias_and_hide(shape, head.bias, begin, rows, keys, p.weights);
    softmax_backward(keys, log_sums, dots, p.weights, p.d_scores);
    if (gradients.bias != nullptr) add_bias_of_distances(shape, begin, rows, keys, p.d_scores, gradients.bias);
    small_product(keys, e, kQueries, LeftOperand<Real>{p.weights, kQueries, 1}, p.d_out, e, p.d_values, e, true);
    small_product(keys, e, kQueries, LeftOperand<Real>{p.d_scores, kQueries, 1}, p.queries, e, p.d_keys, e, true);
    small_product(kQueries, e, keys, LeftOperand<Real>{p.d_scores, 1, kQueries}, p.keys, e, p.d_queries, e, false);
    unpack_rows(s, p.d_queries, head.scale, rows, gradients.q + begin * gradients.q_stride, gradients.q_stride);
  }
  unpack_rows(s, p.d_keys, Real(1), s.length, gradients.k, gradients.k_stride);
  unpack_rows(s, p.d_values, Real(1), s.length, gradients.v, gradients.v_stride);
}

template <class Real>
Head<Real> head_of(const AttentionShape& shape, const AttentionOperands<const Real>& in, std::span<const Real> bias, Real scale,
                   std::int64_t b, std::int64_t h) {
  const std::int64_t column = h * shape.head_width;
  return {.q = in.q.row(b * shape.queries) + column,
          .k = in.k.row(b * shape.keys) + column,
          .v = in.v.row(b * shape.keys) + column,
          .q_stride = in.q.stride,
          .k_stride = in.k.stride,
          .v_stride = in.v.stride,
          .bias = bias.empty() ? nullptr : bias.data() + h * shape.distances(),
          .scale = scale};
}

/// Elements of scratch that attend_forward and attend_backward take.
inline std::int64_t attend_scratch(std::int64_t keys, std::int64_t head_width) {
  const std::int64_t p = round_up(keys, kQueries);
  const std::int64_t e = round_up(head_width, 16);
  return 4 * p * e + 5 * kQueries * e + 2 * p * kQueries;
}

/// What biased_attention_forward does, of scores times `scale`. Sizes are right.
template <class Real>
void attend_forward(const AttentionShape& shape, Real scale, const AttentionOperands<const Real>& in, std::span<const Real> bias,
                    std::span<Real> out, std::span<Real> log_sum, std::span<Real> scratch) {
  const HeadShape<Real> s(shape.keys, shape.head_width);
  const ForwardPanels<Real> panels(s, Carver<Real>(scratch));
  const std::int64_t stride = shape.heads * shape.head_width;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      head_forward(shape, s, panels, head_of(shape, in, bias, scale, b, h), out.data() + b * shape.queries * stride + h * shape.head_width,
                   stride, log_sum.data() + (b * shape.heads + h) * shape.queries);
    }
  }
}

/// What biased_attention_backward does, of scores times `scale`. Sizes are right.
template <class Real>
void attend_backward(const AttentionShape& shape, Real scale, std::span<const Real> d_out, const AttentionOperands<const Real>& in,
                     std::span<const Real> bias, std::span<const Real> out, std::span<const Real> log_sum,
                     const AttentionOperands<Real>& gradients, std::span<Real> d_bias, std::span<Real> scratch) {
  const HeadShape<Real> s(shape.keys, shape.head_width);
  const BackwardPanels<Real> panels(s, Carver<Real>(scratch));
  const std::int64_t stride = shape.heads * shape.head_width;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t column = h * shape.head_width;
      const std::int64_t first = b * shape.queries * stride + column;
      const HeadGradients<Real> d{.q = gradients.q.row(b * shape.queries) + column,
                                  .k = gradients.k.row(b * shape.keys) + column,
                                  .v = gradients.v.row(b * shape.keys) + column,
                                  .q_stride = gradients.q.stride,
                                  .k_stride = gradients.k.stride,
                                  .v_stride = gradients.v.stride,
                                  .bias = d_bias.empty() ? nullptr : d_bias.data() + h * shape.distances()};
      head_backward(shape, s, panels, head_of(shape, in, bias, scale, b, h), d_out.data() + first, out.data() + first, stride,
                    log_sum.data() + (b * shape.heads + h) * shape.queries, d);
    }
  }
}

}  // namespace twinax::tensor
