#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "twinax/base/error.hpp"
#include "twinax/tensor/for_each.hpp"

#include "tensor/cpu/small_product.hpp"

// Panels: contiguous copies of one head's matrices, padded with zeroes so that products need no remainders.
// T positions, D head width; P = T rounded up to kQueries, E = D rounded up to a vector.
namespace twinax::tensor {

/// Queries computed at once. Their scores lie transposed, [keys, kQueries], so that a softmax is columns of whole vectors.
inline constexpr std::int64_t kQueries = 32;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// The sizes of one head's panels.
template <class Real>
struct HeadShape {
  std::int64_t length, padded_length;     // T, P
  std::int64_t head_width, padded_width;  // D, E
  HeadShape(std::int64_t t, std::int64_t d)
      : length(t), padded_length(round_up(t, kQueries)), head_width(d), padded_width(round_up(d, VectorOf<Real>::kLanes)) {}
};

/// Hands out pieces of the caller's scratch.
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

/// to [padded_rows, E] = factor * from [rows, D] (rows `stride` apart), zero outside.
template <class Real>
void pack_rows(const HeadShape<Real>& s, const Real* from, std::int64_t stride, Real factor, std::int64_t rows, std::int64_t padded_rows,
               Real* to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    Real* const out = to + row * s.padded_width;
    const Real* const in = from + row * stride;
    TWINAX_SIMD
    for (std::int64_t d = 0; d < s.head_width; ++d) out[d] = factor * in[d];
    std::fill(out + s.head_width, out + s.padded_width, Real(0));
  }
  std::fill(to + rows * s.padded_width, to + padded_rows * s.padded_width, Real(0));
}

/// to [D, kQueries] = the transpose of a packed block [kQueries, E].
template <class Real>
void transpose_block(const HeadShape<Real>& s, const Real* block, Real* to) {
  for (std::int64_t d = 0; d < s.head_width; ++d) {
    for (std::int64_t i = 0; i < kQueries; ++i) to[d * kQueries + i] = block[i * s.padded_width + d];
  }
}

/// out [rows, D] (rows `stride` apart) = factor * from [rows, E].
template <class Real>
void unpack_rows(const HeadShape<Real>& s, const Real* from, Real factor, std::int64_t rows, Real* out, std::int64_t stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    TWINAX_SIMD
    for (std::int64_t d = 0; d < s.head_width; ++d) out[row * stride + d] = factor * from[row * s.padded_width + d];
  }
}

}  // namespace twinax::tensor
