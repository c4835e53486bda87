#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <span>

#include "twinax/base/units.hpp"

namespace twinax::collective {

/// Memory that the members of a group, all of one host, map in common: what direct collectives meet in, and for each member a heap whose
/// buffers its peers read in place. One object serves one Collectives.
///
/// As a memory resource it is this member's heap: it throws std::bad_alloc when that is full; what comes back
/// to it loses its pages, which are zero when they are touched again. Threads: any.
class NodeMemory final : public std::pmr::memory_resource {
 public:
  /// What a member can put into its slot: small contributions travel there.
  static constexpr std::size_t kSlotBytes = 8192;

  /// The bytes to share for `members` with a heap of `heap` each; pages that nobody touches take no memory.
  [[nodiscard]] static Bytes size(int members, Bytes heap);
  /// This member's view of zeroed memory of that size; `index` is its place in the group.
  NodeMemory(std::shared_ptr<std::byte[]> memory, int members, int index, Bytes heap);

  /// The number of members.
  [[nodiscard]] int members() const { return members_; }
  /// This member's place.
  [[nodiscard]] int index() const { return index_; }
  /// A member's block of control memory: kControlBytes of it, at a cache line.
  [[nodiscard]] std::byte* control(int member) const;
  static constexpr std::size_t kControlBytes = std::size_t{4} * 64 + 2 * kSlotBytes;

  /// Where bytes lie in the common memory; none if they are not wholly in this member's heap.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(const void* begin, std::size_t bytes) const;
  /// What a member's offset stands for here.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const { return memory_.get() + offset; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* begin, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::shared_ptr<std::byte[]> memory_;
  int members_;
  int index_;
  std::size_t heap_begin_;
  std::size_t heap_bytes_;
  std::mutex mutex_;                         // protects free_; nothing is taken after it
  std::map<std::size_t, std::size_t> free_;  // offset and size of what is free: whole pages, neighbours merged
};

}  // namespace twinax::collective
