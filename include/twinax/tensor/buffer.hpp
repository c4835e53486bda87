#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace twinax::tensor {

/// Zeroed bytes at a 64-byte boundary; from 4 MiB on at a 2 MiB boundary and, where the system agrees, in huge pages. Throws
/// std::bad_alloc.
[[nodiscard]] std::byte* allocate_aligned(std::size_t bytes);

/// A fixed number of elements, zero at first, aligned for vector units; the one way to hold activations and scratch. Move-only.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  /// `elements` zeroes.
  explicit Buffer(std::int64_t elements)
      : data_(reinterpret_cast<T*>(allocate_aligned(static_cast<std::size_t>(elements) * sizeof(T)))),
        size_(static_cast<std::size_t>(elements)) {}
  /// All elements.
  [[nodiscard]] std::span<T> span() const noexcept { return {data_.get(), size_}; }
  /// The first `elements` elements.
  [[nodiscard]] std::span<T> first(std::int64_t elements) const { return span().first(static_cast<std::size_t>(elements)); }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(T* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace twinax::tensor
