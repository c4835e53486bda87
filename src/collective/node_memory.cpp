#include "twinax/collective/node_memory.hpp"

#include <iterator>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"

namespace twinax::collective {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::size_t control_pages(int members) {
  return whole_pages(static_cast<std::size_t>(members) * NodeMemory::kControlBytes);
}

/// Gives the pages back to the system: a file's by making a hole in it, a process's own by forgetting them. Either is a wish.
void drop_pages(void* begin, std::size_t bytes) {
  if (madvise(begin, bytes, MADV_REMOVE) != 0) (void)madvise(begin, bytes, MADV_DONTNEED);
}

}  // namespace

Bytes NodeMemory::size(int members, Bytes heap) {
  const std::size_t each = whole_pages(narrow<std::size_t>(heap.value));
  return {narrow<std::int64_t>(control_pages(members) + static_cast<std::size_t>(members) * each)};
}

NodeMemory::NodeMemory(std::shared_ptr<std::byte[]> memory, int members, int index, Bytes heap)
    : memory_(std::move(memory)), members_(members), index_(index), heap_bytes_(whole_pages(narrow<std::size_t>(heap.value))) {
  if (index < 0 || index >= members) {
    throw InvalidArgument("member " + std::to_string(index) + " of memory that " + std::to_string(members) + " have in common");
  }
  heap_begin_ = control_pages(members) + static_cast<std::size_t>(index) * heap_bytes_;
  if (heap_bytes_ > 0) free_.emplace(heap_begin_, heap_bytes_);
}

std::byte* NodeMemory::control(int member) const {
  return memory_.get() + static_cast<std::size_t>(member) * kControlBytes;
}

std::optional<std::uint64_t> NodeMemory::offset_of(const void* begin, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(memory_.get()) + heap_begin_;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  if (at < first || at - first > heap_bytes_ || bytes > heap_bytes_ - (at - first)) return std::nullopt;
  return heap_begin_ + (at - first);
}

void* NodeMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t wanted = whole_pages(bytes == 0 ? 1 : bytes);
  const std::scoped_lock lock(mutex_);
  for (auto place = free_.begin(); alignment <= kPage && place != free_.end(); ++place) {
    const auto [offset, size] = *place;
    if (size < wanted) continue;
    free_.erase(place);
    if (size > wanted) free_.emplace(offset + wanted, size - wanted);
    return at(offset);
  }
  throw std::bad_alloc();
}

void NodeMemory::do_deallocate(void* begin, std::size_t bytes, std::size_t /*alignment*/) {
  drop_pages(begin, whole_pages(bytes == 0 ? 1 : bytes));
  const std::scoped_lock lock(mutex_);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(begin) - memory_.get());
  auto place = free_.emplace(offset, whole_pages(bytes == 0 ? 1 : bytes)).first;
  if (const auto next = std::next(place); next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place == free_.begin()) return;
  const auto previous = std::prev(place);
  if (previous->first + previous->second != place->first) return;
  previous->second += place->second;
  free_.erase(place);
}

}  // namespace twinax::collective
