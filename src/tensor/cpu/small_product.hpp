#pragma once

#include <cstdint>
#include <cstring>

// Matrix products that stay in the core's caches: what attention needs for one head. Letters: m rows of C, n columns, k depth.
namespace twinax::tensor {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kTileRows = 8;
#else
inline constexpr int kVectorBytes = 32;
inline constexpr int kTileRows = 4;
#endif

/// A vector register of Real.
template <class Real>
struct VectorOf {
  typedef Real type __attribute__((vector_size(kVectorBytes)));  // NOLINT(modernize-use-using): the attribute needs it
  static constexpr std::int64_t kLanes = kVectorBytes / static_cast<std::int64_t>(sizeof(Real));
};

/// The left operand: element (row, depth) at data[row * row_step + depth * depth_step], so that a transpose costs nothing.
template <class Real>
struct LeftOperand {
  const Real* data;
  std::int64_t row_step;
  std::int64_t depth_step;
};

/// C [kRows, kVectors * lanes] += or = A [kRows, k] B [k, kVectors * lanes], in registers.
template <class Real, int kRows, int kVectors>
inline void product_tile(std::int64_t k, const LeftOperand<Real>& a, const Real* b, std::int64_t stride_b, Real* c, std::int64_t stride_c,
                         bool add) {
  using Vector = typename VectorOf<Real>::type;
  constexpr std::int64_t kLanes = VectorOf<Real>::kLanes;
  Vector total[kRows][kVectors] = {};
  for (std::int64_t depth = 0; depth < k; ++depth) {
    Vector right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) std::memcpy(&right[v], b + depth * stride_b + v * kLanes, sizeof(Vector));
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const Real left = a.data[row * a.row_step + depth * a.depth_step];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) total[row][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Real* const to = c + row * stride_c + v * kLanes;
      if (add) {
        Vector before;
        std::memcpy(&before, to, sizeof(Vector));
        total[row][v] += before;
      }
      std::memcpy(to, &total[row][v], sizeof(Vector));
    }
  }
}

/// C [m, n] += or = A [m, k] B [k, n]; m divisible by kTileRows, n by the lanes of a vector; rows of B and C contiguous.
template <class Real>
inline void small_product(std::int64_t m, std::int64_t n, std::int64_t k, const LeftOperand<Real>& a, const Real* b, std::int64_t stride_b,
                          Real* c, std::int64_t stride_c, bool add) {
  constexpr std::int64_t kLanes = VectorOf<Real>::kLanes;
  std::int64_t column = 0;
  for (; column + 2 * kLanes <= n; column += 2 * kLanes) {
    for (std::int64_t row = 0; row < m; row += kTileRows) {
      const LeftOperand<Real> rows{a.data + row * a.row_step, a.row_step, a.depth_step};
      product_tile<Real, kTileRows, 2>(k, rows, b + column, stride_b, c + row * stride_c + column, stride_c, add);
    }
  }
  for (; column < n; column += kLanes) {
    for (std::int64_t row = 0; row < m; row += kTileRows) {
      const LeftOperand<Real> rows{a.data + row * a.row_step, a.row_step, a.depth_step};
      product_tile<Real, kTileRows, 1>(k, rows, b + column, stride_b, c + row * stride_c + column, stride_c, add);
    }
  }
}

}  // namespace twinax::tensor
