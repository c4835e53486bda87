#include "collective/direct/team.hpp"

#include <array>
#include <atomic>
#include <new>
#include <string>
#include <utility>

#include "twinax/base/cores.hpp"
#include "twinax/base/error.hpp"

namespace twinax::collective::direct {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
/// A few microseconds: more than a peer that is in the same operation takes, less than a sleep costs.
constexpr int kSpins = 200;

}  // namespace

std::byte* Staging::grown(std::size_t bytes) {
  if (bytes <= size_ && data_ != nullptr) return data_;
  release();
  try {
    data_ = static_cast<std::byte*>(heap_.allocate(bytes, kLine));
    size_ = bytes;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return data_;
}

void Staging::release() {
  if (data_ != nullptr) heap_.deallocate(data_, size_, kLine);
  data_ = nullptr;
  size_ = 0;
}

/// A member's block: each counter has a cache line, written by that member alone. All zero at first.
struct Team::Control {
  alignas(kLine) std::atomic<std::uint64_t> arrived;  // the last phase whose data is published
  alignas(kLine) std::atomic<std::uint64_t> done;     // the last phase whose data it has read
  struct alignas(kLine) Place {
    std::uint64_t offset;
  };
  std::array<Place, 2> places;                                                  // by the phase's parity
  alignas(kLine) std::array<std::byte, NodeMemory::kSlotBytes * 2> small_data;  // likewise
};

Team::Team(NodeMemory& memory, const Group& group, const net::WaitContext& wait, std::function<void(int, std::int64_t, net::Purpose)> count)
    : memory_(memory), group_(group), waiter_(wait), count_(std::move(count)), staging_(memory), spins_(wait.has_core_each ? kSpins : 0) {
  static_assert(sizeof(Control) == NodeMemory::kControlBytes && std::atomic<std::uint64_t>::is_always_lock_free);
  if (memory.members() != group.size() || memory.index() != group.index)
    throw InvalidArgument("a group of " + std::to_string(group.size()) + " meets in memory made for " + std::to_string(memory.members()));
}

Team::Control& Team::control(int member) const {
  return *reinterpret_cast<Control*>(memory_.control(member));
}

std::byte* Team::slot_of(int member) const {
  return control(member).small_data.data() + (phase_ % 2) * NodeMemory::kSlotBytes;
}

template <class Counter>
void Team::wait_for(int member, Counter counter, std::uint64_t phase) {
  const std::atomic<std::uint64_t>& reached = control(member).*counter;
  const auto is_there = [&] { return reached.load(std::memory_order_acquire) >= phase; };
  if (is_there()) return;
  for (int spin = 0; spin < spins_; ++spin) {
    relax_core();
    if (is_there()) return;
  }
  const net::WaitContext& context = waiter_.context();
  const int rank = group_.ranks[static_cast<std::size_t>(member)];
  if (context.activity != nullptr) context.activity->wait_for(name_, rank, context.clock->now());
  for (net::Wait wait(waiter_, rank); !is_there();) wait.rest();
}

void Team::begin(std::string_view name) {
  name_ = name;
  for (int member = 0; member < size(); ++member) wait_for(member, &Control::arrived, phase_);
  ++phase_;
}

void Team::publish(const void* data, std::size_t bytes) {
  control(index()).places[phase_ % 2].offset = data == nullptr ? kNowhere : memory_.offset_of(data, bytes).value_or(kNowhere);
  publish_slot();
}

void Team::publish_slot() {
  control(index()).arrived.store(phase_, std::memory_order_release);
}

const std::byte* Team::await_slot(int member) {
  wait_for(member, &Control::arrived, phase_);
  return slot_of(member);
}

const std::byte* Team::await(int member) {
  wait_for(member, &Control::arrived, phase_);
  const std::uint64_t offset = control(member).places[phase_ % 2].offset;
  return offset == kNowhere ? nullptr : memory_.at(offset);
}

bool Team::await_all() {
  bool all = true;
  for (int d = 0; d < size(); ++d) all = await(neighbour(d)) != nullptr && all;
  return all;
}

void Team::done_reading() {
  control(index()).done.store(phase_, std::memory_order_release);
}

void Team::leave() {
  for (int d = 1; d < size(); ++d) wait_for(neighbour(d), &Control::done, phase_);
}

void Team::count(int member, std::size_t bytes, net::Purpose purpose) {
  if (count_ && bytes > 0) count_(group_.ranks[static_cast<std::size_t>(member)], static_cast<std::int64_t>(bytes), purpose);
}

void Team::count_all(std::size_t bytes, net::Purpose purpose) {
  for (int d = 1; d < size(); ++d) count(neighbour(d), bytes, purpose);
}

}  // namespace twinax::collective::direct
