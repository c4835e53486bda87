#include "twinax/step/arena.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "twinax/base/error.hpp"

namespace twinax::step {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2U << 20;

/// A block as it was asked for, where it is from, and whether somebody has it.
struct Block {
  std::size_t size = 0;
  bool is_from_system = true;
  bool taken = false;
};

/// Whole pages, so that a buffer is aligned and can be given back to the system.
std::size_t rounded(std::size_t size) {
  return (std::max<std::size_t>(size, 1) + kPage - 1) / kPage * kPage;
}

std::byte* map_pages(std::size_t bytes) {
  void* const memory = mmap(nullptr, rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (bytes >= kHugePage) madvise(memory, rounded(bytes), MADV_HUGEPAGE);  // advice: a refusal costs speed only
  return static_cast<std::byte*>(memory);
}

}  // namespace

struct Arena::State {
  explicit State(std::pmr::memory_resource* given) : memory(given) {}

  /// A new block; its data is null if nobody has memory.
  std::pair<std::byte*, bool> make(std::size_t bytes) {
    if (memory != nullptr) {
      try {
        return {static_cast<std::byte*>(memory->allocate(rounded(bytes), kPage)), false};
      } catch (const std::bad_alloc&) {
      }
    }
    return {map_pages(bytes), true};
  }

  std::pmr::memory_resource* memory;
  mutable std::mutex mutex;                               // protects all below; the memory's own may be taken after it
  std::map<std::size_t, std::vector<std::byte*>> cached;  // by size asked for
  std::map<std::byte*, Block> all;                        // every block
  std::int64_t active = 0;
  std::int64_t peak = 0;
  std::int64_t reserved = 0;
  std::int64_t from_system = 0;
};

Arena::Arena(std::pmr::memory_resource* memory) : state_(std::make_unique<State>(memory)) {}

Arena::~Arena() {
  for (const auto& [address, block] : state_->all) {
    if (block.is_from_system) {
      munmap(address, rounded(block.size));
    } else {
      state_->memory->deallocate(address, rounded(block.size), kPage);
    }
  }
}

std::span<std::byte> Arena::take(Bytes size) {
  if (size.value < 0) throw InvalidArgument("a buffer of " + std::to_string(size.value) + " bytes is asked for");
  const std::scoped_lock lock(state_->mutex);
  const auto bytes = static_cast<std::size_t>(size.value);
  std::vector<std::byte*>& fitting = state_->cached[bytes];
  if (fitting.empty()) {
    const auto [block, is_from_system] = state_->make(bytes);
    if (block == nullptr) {
      throw OutOfBudget("no memory for a buffer of " + std::to_string(size.value) + " bytes; " + std::to_string(state_->active) +
                        " bytes are in use and " + std::to_string(state_->reserved) + " are held");
    }
    for (std::size_t at = 0; at < bytes; at += kPage) block[at] = std::byte{0};
    state_->all.emplace(block, Block{.size = bytes, .is_from_system = is_from_system, .taken = false});
    state_->reserved += size.value;
    if (is_from_system) state_->from_system += size.value;
    fitting.push_back(block);
  }
  std::byte* block = fitting.back();
  fitting.pop_back();
  state_->all.at(block).taken = true;
  state_->active += size.value;
  state_->peak = std::max(state_->peak, state_->active);
  return {block, bytes};
}

void Arena::give(std::span<std::byte> buffer) {
  const std::scoped_lock lock(state_->mutex);
  const auto known = state_->all.find(buffer.data());
  if (known == state_->all.end() || known->second.size != buffer.size())
    throw InvalidArgument("a buffer comes back to an arena that it is not from");
  if (!known->second.taken) throw InvalidArgument("a buffer of " + std::to_string(buffer.size()) + " bytes comes back to its arena twice");
  known->second.taken = false;
  state_->cached[buffer.size()].push_back(buffer.data());
  state_->active -= static_cast<std::int64_t>(buffer.size());
}

Bytes Arena::active() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->active};
}

Bytes Arena::peak() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->peak};
}

Bytes Arena::reserved() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->reserved};
}

Bytes Arena::from_system() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->from_system};
}

void Arena::reset_peak() {
  const std::scoped_lock lock(state_->mutex);
  state_->peak = state_->active;
}

}  // namespace twinax::step
