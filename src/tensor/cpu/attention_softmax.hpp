#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/attention_panels.hpp"
#include "tensor/functors/exponential.hpp"

// What the kernels of attention do to a block of scores [K, kQueries]. Letters as in attention_panels.hpp; K keys that a block sees.
namespace twinax::tensor {

inline constexpr std::int64_t kDiagonal = kQueries;  // the last keys of a block, where some queries see them and some don't
/// The score of a key that a query does not see.
template <class Real>
inline constexpr Real kHidden = static_cast<Real>(-1e30);

/// Hides from query i of the block the keys after it: scores [K, kQueries], whose last kDiagonal rows are the block's own positions.
template <class Real>
void hide_future(std::int64_t keys, Real* scores) {
  Real* const diagonal = scores + (keys - kDiagonal) * kQueries;
  for (std::int64_t key = 1; key < kDiagonal; ++key) std::fill_n(diagonal + key * kQueries, key, kHidden<Real>);
}

/// Turns scores [K, kQueries] into exp(score - the query's largest), with sums and largest [kQueries].
template <class Real>
void exponentials(std::int64_t keys, Real* scores, Real* totals, Real* largest) {
  Real most[kQueries];
  Real sum[kQueries] = {};
  std::copy_n(scores, kQueries, most);
  for (std::int64_t key = 1; key < keys; ++key) {
    const Real* const row = scores + key * kQueries;
    TWINAX_SIMD
    for (std::int64_t i = 0; i < kQueries; ++i) most[i] = most[i] < row[i] ? row[i] : most[i];
  }
  for (std::int64_t key = 0; key < keys; ++key) {
    Real* const row = scores + key * kQueries;
    TWINAX_SIMD
    for (std::int64_t i = 0; i < kQueries; ++i) {
      const Real e = exponential(row[i] - most[i]);
      row[i] = e;
      sum[i] += e;
    }
  }
  std::copy_n(sum, kQueries, totals);
  std::copy_n(most, kQueries, largest);
}

/// From scores and d_weights [K, kQueries] to weights and d_scores: weight (d_weight - dot), with log_sum and dots [kQueries] of the
/// queries.
template <class Real>
void softmax_backward(std::int64_t keys, const Real* log_sum, const Real* dots, Real* scores, Real* d_weights) {
  for (std::int64_t key = 0; key < keys; ++key) {
    Real* const row = scores + key * kQueries;
    Real* const d_row = d_weights + key * kQueries;
    TWINAX_SIMD
    for (std::int64_t i = 0; i < kQueries; ++i) {
      const Real weight = exponential(row[i] - log_sum[i]);
      row[i] = weight;
      d_row[i] = weight * (d_row[i] - dots[i]);
    }
  }
}

/// dots [rows] = the sums of a * b over rows of a and b [rows, D], `stride` apart.
template <class Real>
void row_dots(const HeadShape<Real>& s, std::int64_t rows, const Real* a, const Real* b, std::int64_t stride, Real* dots) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const Real* const left = a + row * stride;
    const Real* const right = b + row * stride;
    Real dot = 0;
    TWINAX_SIMD_REDUCTION(+, dot)
    for (std::int64_t d = 0; d < s.head_width; ++d) dot += left[d] * right[d];
    dots[row] = dot;
  }
}

}  // namespace twinax::tensor
