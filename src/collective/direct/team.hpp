#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "twinax/base/activity.hpp"
#include "twinax/collective/group.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::collective::direct {

/// Memory of this member's heap that is kept and grown: what is staged where a caller's buffer can't be read by peers.
class Staging {
 public:
  explicit Staging(std::pmr::memory_resource& heap) : heap_(heap) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { release(); }
  /// At least `bytes`; null if the heap has no room for them.
  [[nodiscard]] std::byte* grown(std::size_t bytes);

 private:
  void release();
  std::pmr::memory_resource& heap_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// How members of one node meet in their common memory.
///
/// An operation is one or more phases, which all members go through in the same order. In a phase each member publishes where its data is
/// (or puts small data into its slot), waits for those of its peers, and reads them. What a peer may still read is kept by two rules: slots
/// and places alternate between two sets, and a member writes to one only when all have arrived in the phase before, hence have left the
/// phase before that; and data that is read in place is given back to the caller only after leave().
class Team {
 public:
  /// `memory` outlives it. `count` is told what peers read from this member; may be empty.
  Team(NodeMemory& memory, const Group& group, const net::WaitContext& wait,
       std::function<void(int to_rank, std::int64_t bytes, net::Purpose purpose)> count);

  [[nodiscard]] int size() const { return memory_.members(); }
  [[nodiscard]] int index() const { return memory_.index(); }
  /// The member `distance` places further.
  [[nodiscard]] int neighbour(int distance) const { return (index() + distance) % size(); }

  /// Begins a phase; the name is for hang reports.
  void begin(std::string_view name);
  /// This member's slot in the current phase, of which the first `bytes` can be written now.
  [[nodiscard]] std::span<std::byte> slot(std::size_t bytes) { return {slot_of(index()), bytes}; }
  /// Tells peers where this member's data is: in its heap. Null: it can't be read, so that all must talk otherwise.
  void publish(const void* data, std::size_t bytes);
  /// Tells peers that the slot is filled, or only that this member is here.
  void publish_slot();
  /// A peer's slot, once it is filled.
  [[nodiscard]] const std::byte* await_slot(int member);
  /// A peer's data; null if it can't be read.
  [[nodiscard]] const std::byte* await(int member);
  /// Whether all members' data can be read: the same answer on all.
  [[nodiscard]] bool await_all();
  /// This member has read what it wants of the current phase.
  void done_reading();
  /// Waits until all have read.
  void leave();
  /// `bytes` of this member are (or will be) read by one peer, or by each.
  void count(int member, std::size_t bytes, net::Purpose purpose);
  void count_all(std::size_t bytes, net::Purpose purpose);

  /// Whether peers can read `data` where it is; where else it can be copied to.
  [[nodiscard]] bool is_readable(const void* data, std::size_t bytes) const { return memory_.offset_of(data, bytes).has_value(); }
  [[nodiscard]] Staging& staging() { return staging_; }
  /// Scratch: where an operation reads from.
  [[nodiscard]] std::vector<const float*>& sources() { return sources_; }

 private:
  struct Control;
  [[nodiscard]] Control& control(int member) const;
  [[nodiscard]] std::byte* slot_of(int member) const;
  template <class Counter>
  void wait_for(int member, Counter counter, std::uint64_t phase);

  NodeMemory& memory_;
  Group group_;
  net::Waiter waiter_;
  std::function<void(int, std::int64_t, net::Purpose)> count_;
  Staging staging_;
  std::vector<const float*> sources_;
  int spins_;  // before a wait proper: none where members outnumber cores
  std::uint64_t phase_ = 0;
  std::string_view name_;
};

}  // namespace twinax::collective::direct
