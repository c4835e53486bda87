#include <cstring>

#include "collective/codec.hpp"
#include "collective/direct/algorithms.hpp"
#include "collective/direct/memory.hpp"

namespace twinax::collective::direct {
namespace {

/// Makes the shard readable by peers, as it is on the wire: in its place, where it is, or staged.
const void* offer(Team& team, std::span<const float> shard, std::span<float> place, Dtype wire) {
  if (wire == Dtype::Fp32) {
    if (team.is_readable(place.data(), place.size_bytes())) {
      if (place.data() != shard.data()) copy(std::as_bytes(shard), std::as_writable_bytes(place).data());
      return place.data();
    }
    if (team.is_readable(shard.data(), shard.size_bytes())) return shard.data();
  }
  const std::size_t bytes = shard.size() * static_cast<std::size_t>(size_of(wire).value);
  std::byte* const staged = team.staging().grown(bytes);
  if (staged != nullptr) encode(shard, {staged, bytes}, wire);
  return staged;
}

}  // namespace

void all_gather_slots(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) {
  team.begin("all_gather/direct");
  const std::size_t n = mine.size();
  if (n > 0) std::memcpy(team.slot(n).data(), mine.data(), n);
  team.publish_slot();
  for (int d = 0; d < team.size(); ++d) {
    const int from = team.neighbour(d);
    const std::byte* const data = team.await_slot(from);
    if (n > 0) std::memcpy(all.data() + static_cast<std::size_t>(from) * n, data, n);
  }
  team.count_all(n, purpose);
}

bool all_gather(Team& team, std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) {
  const std::size_t n = shard.size();
  const std::size_t bytes = n * static_cast<std::size_t>(size_of(wire).value);
  const auto place = [&](int member) { return whole.subspan(static_cast<std::size_t>(member) * n, n); };
  const std::span<float> own = place(team.index());
  if (bytes <= NodeMemory::kSlotBytes && wire == Dtype::Fp32) {
    all_gather_slots(team, std::as_bytes(shard), std::as_writable_bytes(whole), purpose);
    return true;
  }
  team.begin("all_gather/direct");
  team.publish(offer(team, shard, own, wire), bytes);
  if (!team.await_all()) return false;
  for (int d = 1; d < team.size(); ++d) {
    const int from = team.neighbour(d);
    const std::span<const std::byte> data(team.await(from), bytes);
    if (wire == Dtype::Fp32) {
      copy(data, std::as_writable_bytes(place(from)).data());
    } else {
      decode(data, place(from), wire);
    }
  }
  team.done_reading();
  if (wire != Dtype::Fp32) {
    decode({team.await(team.index()), bytes}, own, wire);
  } else if (own.data() != shard.data() && !team.is_readable(own.data(), own.size_bytes())) {
    copy(std::as_bytes(shard), std::as_writable_bytes(own).data());
  }
  team.count_all(bytes, purpose);
  team.leave();
  return true;
}

}  // namespace twinax::collective::direct
