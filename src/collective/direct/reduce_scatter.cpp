#include <cstring>
#include <vector>

#include "collective/direct/algorithms.hpp"
#include "collective/direct/memory.hpp"

namespace twinax::collective::direct {

bool reduce_scatter(Team& team, std::span<const float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) {
  team.begin("reduce_scatter/direct");
  const std::size_t n = shard.size();
  const bool is_small = whole.size_bytes() <= NodeMemory::kSlotBytes;
  if (is_small) {
    if (n > 0) std::memcpy(team.slot(whole.size_bytes()).data(), whole.data(), whole.size_bytes());
    team.publish_slot();
  } else {
    const void* offered = whole.data();
    if (!team.is_readable(offered, whole.size_bytes())) {
      std::byte* const staged = team.staging().grown(whole.size_bytes());
      if (staged != nullptr) copy(std::as_bytes(whole), staged);
      offered = staged;
    }
    team.publish(offered, whole.size_bytes());
    if (!team.await_all()) return false;
  }
  team.sources().clear();
  for (int member = 0; member < team.size(); ++member) {
    const std::byte* const data = is_small ? team.await_slot(member) : team.await(member);
    team.sources().push_back(reinterpret_cast<const float*>(data) + static_cast<std::size_t>(team.index()) * n);
  }
  sum(team.sources(), shard, wire, false);
  team.count_all(n * sizeof(float), purpose);
  if (is_small) return true;
  team.done_reading();
  team.leave();
  return true;
}

}  // namespace twinax::collective::direct
