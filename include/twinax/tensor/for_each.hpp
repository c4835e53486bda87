#pragma once

#include <cstdint>

/// Marks what a CPU and a CUDA backend compile from the same source.
#if defined(__CUDACC__)
#define TWINAX_HOST_DEVICE __host__ __device__
#else
#define TWINAX_HOST_DEVICE
#endif

/// Before a loop whose rounds do not depend on each other, but for the reduction named: vector code where the file is compiled for it
/// (TWINAX_VECTORIZE, which the kernels' files are), nothing elsewhere.
#if defined(TWINAX_VECTORIZE)
#define TWINAX_PRAGMA(text) _Pragma(#text)
#define TWINAX_SIMD TWINAX_PRAGMA(omp simd)
// NOLINTNEXTLINE(bugprone-macro-parentheses): parts of a pragma
#define TWINAX_SIMD_REDUCTION(operation, variable) TWINAX_PRAGMA(omp simd reduction(operation : variable))
#else
#define TWINAX_SIMD
#define TWINAX_SIMD_REDUCTION(operation, variable)
#endif

namespace twinax::tensor {

/// How a CPU walks one row: what a row functor is given. A CUDA backend offers the same members, with a block of threads behind them.
struct CpuLanes {
  /// Calls f(column) for every column; the calls do not depend on each other.
  template <class F>
  void each(std::int64_t columns, F f) const {
    TWINAX_SIMD
    for (std::int64_t column = 0; column < columns; ++column) f(column);
  }
  /// The sum of f(column); the order of the additions is fixed for a given build.
  template <class Real, class F>
  [[nodiscard]] Real sum(std::int64_t columns, F f) const {
    Real total = 0;
    TWINAX_SIMD_REDUCTION(+, total)
    for (std::int64_t column = 0; column < columns; ++column) total += f(column);
    return total;
  }
  /// The largest f(column), at least `least`.
  template <class Real, class F>
  [[nodiscard]] Real max(std::int64_t columns, Real least, F f) const {
    Real largest = least;
    TWINAX_SIMD_REDUCTION(max, largest)
    for (std::int64_t column = 0; column < columns; ++column) {
      const Real value = f(column);
      largest = largest < value ? value : largest;
    }
    return largest;
  }
  /// Calls f() once for the row, after what came before and before what follows.
  template <class F>
  void once(F f) const {
    f();
  }
};

/// Calls f(i) for 0 <= i < count; the calls do not depend on each other.
template <class F>
void for_each(std::int64_t count, F f) {
  TWINAX_SIMD
  for (std::int64_t i = 0; i < count; ++i) f(i);
}

/// Calls f(lanes, row) for 0 <= row < rows; rows do not depend on each other.
template <class F>
void for_each_row(std::int64_t rows, F f) {
  for (std::int64_t row = 0; row < rows; ++row) f(CpuLanes{}, row);
}

/// Adds the sum of f(row, column) over all rows to out[column]; the order of the additions is fixed.
template <class Real, class F>
void sum_rows(std::int64_t rows, std::int64_t columns, F f, Real* out) {
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) {  // eight streams: one read and write of out for eight rows
    TWINAX_SIMD
    for (std::int64_t column = 0; column < columns; ++column) {
      const Real a = (f(row, column) + f(row + 1, column)) + (f(row + 2, column) + f(row + 3, column));
      const Real b = (f(row + 4, column) + f(row + 5, column)) + (f(row + 6, column) + f(row + 7, column));
      out[column] += a + b;
    }
  }
  for (; row < rows; ++row) {
    TWINAX_SIMD
    for (std::int64_t column = 0; column < columns; ++column) out[column] += f(row, column);
  }
}

}  // namespace twinax::tensor
