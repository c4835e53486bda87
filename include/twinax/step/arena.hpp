#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <vector>

#include "twinax/step/op.hpp"

namespace twinax::step {

/// Caches buffers by size so that nothing is allocated inside a step once it has run; 64-byte aligned, pages touched when made. Threads:
/// any.
class Arena {
 public:
  /// New memory comes from `memory` as long as that has some (it throws std::bad_alloc where not), then from the system; null: from the
  /// system. `memory` outlives the arena.
  explicit Arena(std::pmr::memory_resource* memory = nullptr);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  /// Takes a buffer of exactly `size` bytes: a cached one, else new memory. Throws OutOfBudget (what was wanted, what is held) if the
  /// system has none, InvalidArgument for a negative size.
  std::span<std::byte> take(Bytes size);
  /// Gives a buffer back to the cache. Throws InvalidArgument if it is not one of this arena's that is taken now.
  void give(std::span<std::byte> buffer);
  /// Bytes taken now, the most since the last reset, and bytes held from the system (taken and cached).
  [[nodiscard]] Bytes active() const;
  [[nodiscard]] Bytes peak() const;
  [[nodiscard]] Bytes reserved() const;
  void reset_peak();
  /// Bytes of `reserved` that did not come from the memory given.
  [[nodiscard]] Bytes from_system() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twinax::step
