#include "twinax/step/arena.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"

#include "step/blocks.hpp"

namespace twinax::step {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2U << 20;
constexpr std::size_t kNamed = 12;  // holders that a message names

std::size_t whole_pages(std::size_t size) {
  return (std::max<std::size_t>(size, 1) + kPage - 1) / kPage * kPage;
}

/// Whole pages of the system, from two huge pages on at the boundary of one; null if there are none.
std::byte* map_pages(std::size_t bytes) {
  const std::size_t spare = bytes >= 2 * kHugePage ? kHugePage : 0;
  void* const memory = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(memory);
  if (spare == 0) return begin;
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < spare) munmap(begin + before + bytes, spare - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // advice: a refusal costs speed only
  return begin + before;
}

/// An arena's memory in the name of one holder.
class Resource final : public std::pmr::memory_resource {
 public:
  Resource(Arena& arena, std::string holder) : arena_(arena), holder_(std::move(holder)) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (alignment > Blocks::kGrain) throw InvalidArgument("an arena's memory is aligned to " + std::to_string(Blocks::kGrain) + " bytes");
    return arena_.take({.size = {static_cast<std::int64_t>(bytes)}, .holder = holder_}).data();
  }
  void do_deallocate(void* begin, std::size_t bytes, std::size_t /*alignment*/) override {
    arena_.give({static_cast<std::byte*>(begin), bytes});
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
  Arena& arena_;
  std::string holder_;
};

}  // namespace

struct Arena::State {
  explicit State(Bytes its_budget) : budget(its_budget.value) {}

  /// Whole pages, touched, so that their faults are paid here; null if nobody has any.
  std::pair<std::byte*, bool> make_segment(std::size_t bytes, bool in_common) {
    std::byte* begin = nullptr;
    bool is_common = false;
    if (in_common && common != nullptr) {
      try {
        begin = static_cast<std::byte*>(common->allocate(bytes, kPage));
        is_common = true;
      } catch (const std::bad_alloc&) {
      }
    }
    if (begin == nullptr) begin = map_pages(bytes);
    for (std::size_t at = 0; begin != nullptr && at < bytes; at += kPage) begin[at] = std::byte{0};
    return {begin, is_common};
  }

  void unmap(const Blocks::Segment& segment) const {
    if (segment.is_common) {
      common->deallocate(segment.memory.data(), segment.memory.size(), kPage);
    } else {
      munmap(segment.memory.data(), segment.memory.size());
    }
  }

  /// Under the lock.
  void update_peaks() {
    use.allocated_peak = std::max(use.allocated_peak, Bytes{blocks.allocated()});
    use.active_peak = std::max(use.active_peak, Bytes{blocks.active()});
    use.reserved_peak = std::max(use.reserved_peak, Bytes{reserved});
  }

  std::optional<std::span<std::byte>> try_take(const Ask& ask, bool beyond_budget) {
    if (ask.size.value < 0) throw InvalidArgument("a buffer of " + std::to_string(ask.size.value) + " bytes is asked for");
    const std::size_t bytes = whole_pages(static_cast<std::size_t>(ask.size.value));
    {
      const std::scoped_lock lock(mutex);
      if (std::optional<std::span<std::byte>> found = blocks.find(ask)) {
        update_peaks();
        return found;
      }
      const auto more = static_cast<std::int64_t>(bytes);
      if (!beyond_budget && budget != 0 && more > budget - reserved) return std::nullopt;
      reserved += more;
    }
    // Other lanes go on while pages are made.
    const auto [begin, is_common] = make_segment(bytes, ask.in_common);
    const std::scoped_lock lock(mutex);
    if (begin == nullptr) {
      reserved -= static_cast<std::int64_t>(bytes);
      return std::nullopt;
    }
    if (ask.in_common && !is_common) not_in_common += static_cast<std::int64_t>(bytes);
    const std::span<std::byte> taken = blocks.add_segment({begin, bytes}, is_common, ask);
    update_peaks();
    return taken;
  }

  void give_back_cached() {
    const std::scoped_lock lock(mutex);
    for (const Blocks::Segment& segment : blocks.take_free_segments()) {
      reserved -= std::ssize(segment.memory);
      if (segment.wanted_common && !segment.is_common) not_in_common -= std::ssize(segment.memory);
      unmap(segment);
    }
  }

  /// What can't be had, and who holds what.
  std::string shortage(const Ask& ask) {
    const std::scoped_lock lock(mutex);
    const bool is_over =
        budget != 0 && static_cast<std::int64_t>(whole_pages(static_cast<std::size_t>(ask.size.value))) > budget - reserved;
    std::string text = is_over ? "out of the memory budget of " + for_people(Bytes{budget}) + " (memory.budget): " : "out of memory: ";
    text += "\"" + ask.holder + "\" takes " + for_people(ask.size) + " more; " + for_people(Bytes{blocks.allocated()}) + " are held, in " +
            for_people(Bytes{reserved}) + " that are left when all that was cached is given back";
    const std::string holders = holders_text();
    return holders.empty() ? text : text + ": " + holders;
  }

  /// Under the lock.
  [[nodiscard]] std::string holders_text() const {
    std::string text;
    const auto holders = blocks.holders();
    for (std::size_t i = 0; i < std::min(holders.size(), kNamed); ++i) {
      text += (i == 0 ? "" : ", ") + holders[i].first + " " + for_people(holders[i].second);
    }
    if (holders.size() > kNamed) text += ", and " + std::to_string(holders.size() - kNamed) + " more";
    return text;
  }

  std::int64_t budget;
  std::pmr::memory_resource* common = nullptr;

  mutable std::mutex mutex;  // protects all below; the common memory's own may be taken after it
  Blocks blocks;
  std::uint64_t marks = 0;  // positions given to runs
  std::int64_t reserved = 0;
  std::int64_t not_in_common = 0;
  std::string overdraft;
  MemoryUse use;
  std::map<std::string, Resource> resources;
};

Arena::Arena(Bytes budget) : state_(std::make_unique<State>(budget)) {
  if (budget.value < 0) throw InvalidArgument("a memory budget of " + std::to_string(budget.value) + " bytes");
}

Arena::~Arena() {
  for (const Blocks::Segment& segment : state_->blocks.segments()) state_->unmap(segment);
}

std::optional<std::span<std::byte>> Arena::try_take(const Ask& ask) {
  return state_->try_take(ask, false);
}

std::span<std::byte> Arena::take(const Ask& ask) {
  std::optional<std::span<std::byte>> taken = state_->try_take(ask, false);
  if (!taken) {
    state_->give_back_cached();
    taken = state_->try_take(ask, false);
  }
  if (!taken) throw OutOfBudget(state_->shortage(ask));
  return *taken;
}

std::span<std::byte> Arena::overdraw(const Ask& ask) {
  const std::string shortage = state_->shortage(ask);
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->overdraft.empty()) state_->overdraft = shortage;
  }
  std::optional<std::span<std::byte>> taken = state_->try_take(ask, true);
  if (!taken) throw OutOfBudget(shortage);
  return *taken;
}

std::string Arena::overdraft() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->overdraft;
}

std::uint64_t Arena::begin_marks(std::size_t ops) {
  const std::scoped_lock lock(state_->mutex);
  return std::exchange(state_->marks, state_->marks + ops);
}

void Arena::use(std::span<std::byte> buffer, Mark mark) {
  const std::scoped_lock lock(state_->mutex);
  state_->blocks.use(buffer, mark);
}

void Arena::give(std::span<std::byte> buffer) {
  const std::scoped_lock lock(state_->mutex);
  state_->blocks.give(buffer);
}

void Arena::passed(Mark mark) {
  const std::scoped_lock lock(state_->mutex);
  state_->blocks.passed(mark);
}

void Arena::give_back_cached() {
  state_->give_back_cached();
}

void Arena::count_retry(Seconds time) {
  const std::scoped_lock lock(state_->mutex);
  ++state_->use.retries;
  state_->use.stalled += time;
}

std::pmr::memory_resource& Arena::resource(const std::string& holder) {
  const std::scoped_lock lock(state_->mutex);
  return state_->resources.try_emplace(holder, *this, holder).first->second;
}

void Arena::set_common(std::pmr::memory_resource* memory) {
  state_->give_back_cached();
  const std::scoped_lock lock(state_->mutex);
  const auto segments = state_->blocks.segments();
  if (std::ranges::any_of(segments, [](const Blocks::Segment& segment) { return segment.is_common; }))
    throw InvalidArgument("an arena loses memory that is still held");
  state_->common = memory;
}

Bytes Arena::allocated() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->blocks.allocated()};
}

Bytes Arena::active() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->blocks.active()};
}

Bytes Arena::reserved() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->reserved};
}

Bytes Arena::not_in_common() const {
  const std::scoped_lock lock(state_->mutex);
  return {state_->not_in_common};
}

void Arena::set_budget(Bytes budget) {
  if (budget.value < 0) throw InvalidArgument("a memory budget of " + std::to_string(budget.value) + " bytes");
  const std::scoped_lock lock(state_->mutex);
  state_->budget = budget.value;
}

Bytes Arena::budget() const {
  return {state_->budget};
}

std::string Arena::holders() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->holders_text();
}

void Arena::reset_use() {
  const std::scoped_lock lock(state_->mutex);
  state_->use = {};
  state_->update_peaks();
}

MemoryUse Arena::memory_use() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->use;
}

}  // namespace twinax::step
