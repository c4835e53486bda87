#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
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
  /// `elements` zeroes, from `memory` (aligned as that does it for 64 bytes, and outlived by it) or, where that is null, from the system.
  explicit Buffer(std::int64_t elements, std::pmr::memory_resource* memory = nullptr)
      : data_(allocate(static_cast<std::size_t>(elements) * sizeof(T), memory),
              Free{.memory = memory, .bytes = static_cast<std::size_t>(elements) * sizeof(T)}),
        size_(static_cast<std::size_t>(elements)) {}
  /// All elements.
  [[nodiscard]] std::span<T> span() const noexcept { return {data_.get(), size_}; }
  /// The first `elements` elements.
  [[nodiscard]] std::span<T> first(std::int64_t elements) const { return span().first(static_cast<std::size_t>(elements)); }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  static T* allocate(std::size_t bytes, std::pmr::memory_resource* memory) {
    if (memory == nullptr) return reinterpret_cast<T*>(allocate_aligned(bytes));
    void* const data = memory->allocate(bytes, kAlignment);
    std::memset(data, 0, bytes);
    return static_cast<T*>(data);
  }
  struct Free {
    std::pmr::memory_resource* memory = nullptr;
    std::size_t bytes = 0;
    void operator()(T* data) const noexcept {
      if (memory != nullptr) {
        memory->deallocate(data, bytes, kAlignment);
      } else {
        std::free(data);
      }
    }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace twinax::tensor
