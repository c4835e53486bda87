#include "step/blocks.hpp"

#include <algorithm>
#include <iterator>

#include "twinax/base/error.hpp"

namespace twinax::step {

std::size_t Blocks::rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kGrain - 1) / kGrain * kGrain;
}

std::size_t Blocks::pool_of(const Ask& ask) {
  const bool is_large = rounded(static_cast<std::size_t>(ask.size.value)) >= kLarge;
  return static_cast<std::size_t>(ask.lane) * 4 + (ask.in_common ? 2U : 0U) + (is_large ? 1U : 0U);
}

std::optional<std::span<std::byte>> Blocks::find(const Ask& ask) {
  const std::size_t size = rounded(static_cast<std::size_t>(ask.size.value));
  const std::size_t pool = pool_of(ask);
  const auto fitting = free_[pool].lower_bound({size, nullptr});
  const Place place = fitting == free_[pool].end() ? find_waiting(ask, pool) : all_.find(fitting->second);
  if (place == all_.end()) return std::nullopt;
  (place->second.state == State::Waiting ? waiting_ : free_)[pool].erase({place->second.size, place->first});
  cut(place, size);
  return hold(place, ask);
}

Blocks::Place Blocks::find_waiting(const Ask& ask, std::size_t pool) {
  const std::size_t size = rounded(static_cast<std::size_t>(ask.size.value));
  for (auto entry = waiting_[pool].lower_bound({size, nullptr}); entry != waiting_[pool].end(); ++entry) {
    const Place place = all_.find(entry->second);
    bool is_over = true;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      is_over = is_over && place->second.used_until[lane] <= std::max(passed_[lane], ask.waits_for[lane]);
    }
    if (is_over) return place;
  }
  return all_.end();
}

std::span<std::byte> Blocks::add_segment(std::span<std::byte> segment, bool is_common, const Ask& ask) {
  segments_.emplace(segment.data(), Segment{.memory = segment, .is_common = is_common, .wanted_common = ask.in_common});
  Block block;
  block.size = segment.size();
  block.pool = pool_of(ask);
  block.segment = segment.data();
  block.lane = ask.lane;
  const Place place = all_.emplace(segment.data(), std::move(block)).first;
  cut(place, rounded(static_cast<std::size_t>(ask.size.value)));
  return hold(place, ask);
}

/// Leaves a block of `size`, and what is over as one of its own, of the same state; of large blocks nothing small is cut off.
void Blocks::cut(Place place, std::size_t size) {
  Block& block = place->second;
  const std::size_t over = block.size - size;
  if (over < (block.pool % 2 == 1 ? kLarge : kGrain)) return;
  block.size = size;
  Block rest = block;
  rest.size = over;
  std::byte* const begin = place->first + size;
  (rest.state == State::Waiting ? waiting_ : free_)[rest.pool].emplace(over, begin);
  all_.emplace(begin, std::move(rest));
}

/// A block that is in no list any more gets its holder.
std::span<std::byte> Blocks::hold(Place place, const Ask& ask) {
  Block& block = place->second;
  if (block.state == State::Free) active_ += static_cast<std::int64_t>(block.size);
  block.state = State::Taken;
  block.asked = static_cast<std::size_t>(ask.size.value);
  block.holder = ask.holder;
  allocated_ += ask.size.value;
  return {place->first, block.asked};
}

Blocks::Place Blocks::taken_block(std::span<std::byte> buffer) {
  const Place place = all_.find(buffer.data());
  if (place == all_.end() || (place->second.state == State::Taken && place->second.asked != buffer.size()))
    throw InvalidArgument("a buffer comes back to an arena that it is not from");
  if (place->second.state != State::Taken)
    throw InvalidArgument("a buffer of " + std::to_string(buffer.size()) + " bytes comes back to its arena twice");
  return place;
}

void Blocks::use(std::span<std::byte> buffer, Mark mark) {
  Block& block = taken_block(buffer)->second;
  std::uint64_t& until = mark.lane == block.lane ? block.own_until : block.used_until[static_cast<std::size_t>(mark.lane)];
  until = std::max(until, mark.position);
}

bool Blocks::is_passed(const Block& block) const {
  return std::ranges::equal(block.used_until, passed_, [](std::uint64_t until, std::uint64_t passed) { return until <= passed; });
}

void Blocks::give(std::span<std::byte> buffer) {
  const Place place = taken_block(buffer);
  Block& block = place->second;
  allocated_ -= static_cast<std::int64_t>(block.asked);
  block.holder.clear();
  if (is_passed(block)) {
    free(place);
    return;
  }
  block.state = State::Waiting;
  waiting_[block.pool].emplace(block.size, place->first);
}

void Blocks::free(Place place) {
  active_ -= static_cast<std::int64_t>(place->second.size);
  place->second.state = State::Free;
  place->second.used_until = {};
  merge_next(place);
  if (place != all_.begin() && std::prev(place)->second.segment == place->second.segment && std::prev(place)->second.state == State::Free) {
    const Place before = std::prev(place);
    free_[before->second.pool].erase({before->second.size, before->first});
    before->second.size += place->second.size;
    before->second.own_until = std::max(before->second.own_until, place->second.own_until);
    all_.erase(place);
    place = before;
  }
  free_[place->second.pool].emplace(place->second.size, place->first);
}

/// Adds the next block of the segment to this one if it is free.
void Blocks::merge_next(Place place) {
  const Place next = std::next(place);
  if (next == all_.end() || next->second.segment != place->second.segment || next->second.state != State::Free) return;
  free_[next->second.pool].erase({next->second.size, next->first});
  place->second.size += next->second.size;
  place->second.own_until = std::max(place->second.own_until, next->second.own_until);
  all_.erase(next);
}

void Blocks::passed(Mark mark) {
  std::uint64_t& position = passed_[static_cast<std::size_t>(mark.lane)];
  position = std::max(position, mark.position);
  for (Sizes& waiting : waiting_) {
    for (auto entry = waiting.begin(); entry != waiting.end();) {
      const Place place = all_.find(entry->second);
      if (!is_passed(place->second)) {
        ++entry;
        continue;
      }
      entry = waiting.erase(entry);
      free(place);
    }
  }
}

std::vector<Blocks::Segment> Blocks::take_free_segments() {
  std::vector<Segment> taken;
  for (auto entry = segments_.begin(); entry != segments_.end();) {
    const Place place = all_.find(entry->first);
    const Block& block = place->second;
    const bool is_whole = block.state == State::Free && block.size == entry->second.memory.size();
    if (!is_whole || block.own_until > passed_[static_cast<std::size_t>(block.lane)]) {
      ++entry;
      continue;
    }
    free_[place->second.pool].erase({place->second.size, place->first});
    all_.erase(place);
    taken.push_back(entry->second);
    entry = segments_.erase(entry);
  }
  return taken;
}

std::vector<Blocks::Segment> Blocks::segments() const {
  std::vector<Segment> all;
  for (const auto& [begin, segment] : segments_) all.push_back(segment);
  return all;
}

std::vector<std::pair<std::string, Bytes>> Blocks::holders() const {
  std::map<std::string, Bytes> sums;
  for (const auto& [begin, block] : all_) {
    if (block.state == State::Taken) sums[block.holder] += Bytes{static_cast<std::int64_t>(block.asked)};
  }
  std::vector<std::pair<std::string, Bytes>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

}  // namespace twinax::step
