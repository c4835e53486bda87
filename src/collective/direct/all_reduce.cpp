#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/direct/algorithms.hpp"
#include "collective/direct/memory.hpp"

namespace twinax::collective::direct {
namespace {

constexpr std::size_t kLine = 16;  // floats: slices begin at cache lines

/// A member's slice of `length` elements.
struct Slice {
  Slice(std::size_t length, int members, int member) {
    const auto count = static_cast<std::size_t>(members);
    const std::size_t each = ((length + count - 1) / count + kLine - 1) / kLine * kLine;
    begin = std::min(static_cast<std::size_t>(member) * each, length);
    size = std::min(each, length - begin);
  }
  std::size_t begin;
  std::size_t size;
};

/// Fills the slot, and waits for everyone's.
void share_slots(Team& team, std::span<const std::byte> mine, net::Purpose purpose) {
  team.begin("all_reduce/direct");
  if (!mine.empty()) std::memcpy(team.slot(mine.size()).data(), mine.data(), mine.size());
  team.publish_slot();
  for (int d = 1; d < team.size(); ++d) (void)team.await_slot(team.neighbour(d));
  team.count_all(mine.size(), purpose);
}

}  // namespace

void all_reduce_slots(Team& team, std::span<float> values, Dtype wire, net::Purpose purpose) {
  share_slots(team, std::as_bytes(values), purpose);
  team.sources().clear();
  for (int member = 0; member < team.size(); ++member) {
    team.sources().push_back(reinterpret_cast<const float*>(team.await_slot(member)));
  }
  sum(team.sources(), values, wire, true);
}

void all_reduce_slots(Team& team, std::span<double> values, net::Purpose purpose) {
  share_slots(team, std::as_bytes(values), purpose);
  std::ranges::fill(values, 0.0);
  for (int member = 0; member < team.size(); ++member) {
    const auto* const data = reinterpret_cast<const double*>(team.await_slot(member));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += data[i];
  }
}

bool all_reduce(Team& team, std::span<float> values, Dtype wire, net::Purpose purpose) {
  if (values.size_bytes() <= NodeMemory::kSlotBytes) {
    all_reduce_slots(team, values, wire, purpose);
    return true;
  }
  // Sums are made where peers can read them: in place, or in a staged copy.
  team.begin("all_reduce/direct sum");
  const std::size_t bytes = values.size_bytes();
  const bool is_staged = !team.is_readable(values.data(), bytes);
  std::byte* const work = is_staged ? team.staging().grown(bytes) : std::as_writable_bytes(values).data();
  if (is_staged && work != nullptr) copy(std::as_bytes(values), work);
  team.publish(work, bytes);
  if (!team.await_all()) return false;
  const auto slice_of = [&](int member) { return Slice(values.size(), team.size(), member); };
  const Slice own = slice_of(team.index());
  team.sources().clear();
  for (int member = 0; member < team.size(); ++member) {
    team.sources().push_back(reinterpret_cast<const float*>(team.await(member)) + own.begin);
    if (member != team.index()) team.count(member, slice_of(member).size * sizeof(float), purpose);
  }
  // Nobody else reads or writes this slice of this member's values.
  sum(team.sources(), std::span(reinterpret_cast<float*>(work) + own.begin, own.size), wire, true);

  team.begin("all_reduce/direct gather");
  team.publish(work, bytes);
  for (int d = is_staged ? 0 : 1; d < team.size(); ++d) {
    const int from = team.neighbour(d);
    const Slice slice = slice_of(from);
    // A member that is here has read its slice of this member's values, so that it may be overwritten.
    const std::byte* const data = team.await(from) + slice.begin * sizeof(float);
    copy({data, slice.size * sizeof(float)}, std::as_writable_bytes(values).data() + slice.begin * sizeof(float));
  }
  team.count_all(own.size * sizeof(float), purpose);
  team.done_reading();
  team.leave();
  return true;
}

}  // namespace twinax::collective::direct
