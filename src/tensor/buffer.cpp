#include "twinax/tensor/buffer.hpp"

#include <cstring>

#include <sys/mman.h>

namespace twinax::tensor {

std::byte* allocate_aligned(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{1} << 21;
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  void* const data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) (void)madvise(data, rounded, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  std::memset(data, 0, rounded);
  return static_cast<std::byte*>(data);
}

}  // namespace twinax::tensor
