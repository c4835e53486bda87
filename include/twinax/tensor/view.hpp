#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace twinax::tensor {

/// A row-major matrix in memory that someone else owns; row i begins at data[i * stride].
template <class T>
struct Matrix {
  std::span<T> data;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;

  /// The first element of row `row`.
  [[nodiscard]] T* row(std::int64_t row) const { return data.data() + row * stride; }
  /// Rows [begin, begin + count).
  [[nodiscard]] Matrix rows_from(std::int64_t begin, std::int64_t count) const {
    return {data.subspan(static_cast<std::size_t>(begin * stride)), count, columns, stride};
  }
  /// A view that can't write.
  operator Matrix<const T>() const requires(!std::is_const_v<T>) {  // NOLINT(google-explicit-constructor): as span does
    return {data, rows, columns, stride};
  }
};

/// A view of `rows` x `columns` elements without gaps.
template <class T>
[[nodiscard]] Matrix<T> as_matrix(std::span<T> data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns};
}

/// Columns [first, first + columns) of rows that are `stride` wide and follow each other.
template <class T>
[[nodiscard]] Matrix<T> columns_of(std::span<T> data, std::int64_t stride, std::int64_t first, std::int64_t columns) {
  const std::int64_t rows = stride == 0 ? 0 : static_cast<std::int64_t>(data.size()) / stride;
  return {data.empty() ? data : data.subspan(static_cast<std::size_t>(first)), rows, columns, stride};
}

/// Whether every element of the view lies inside its span.
template <class T>
[[nodiscard]] bool fits(const Matrix<T>& view) {
  if (view.rows < 0 || view.columns < 0 || view.stride < view.columns) return false;
  if (view.rows == 0 || view.columns == 0) return true;
  return static_cast<std::int64_t>(view.data.size()) >= (view.rows - 1) * view.stride + view.columns;
}

}  // namespace twinax::tensor
