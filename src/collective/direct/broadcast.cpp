#include <cstring>

#include "collective/direct/algorithms.hpp"
#include "collective/direct/memory.hpp"

namespace twinax::collective::direct {

bool broadcast(Team& team, std::span<std::byte> data, int root, net::Purpose purpose) {
  team.begin("broadcast/direct");
  const bool is_root = team.index() == root;
  if (data.size() <= NodeMemory::kSlotBytes) {
    if (is_root && !data.empty()) std::memcpy(team.slot(data.size()).data(), data.data(), data.size());
    team.publish_slot();
    const std::byte* const from = team.await_slot(root);
    if (!is_root && !data.empty()) std::memcpy(data.data(), from, data.size());
    if (is_root) team.count_all(data.size(), purpose);
    return true;
  }
  if (!is_root) {
    team.publish_slot();
    const std::byte* const from = team.await(root);
    if (from == nullptr) return false;
    copy({from, data.size()}, data.data());
    team.done_reading();
    return true;
  }
  const void* offered = data.data();
  if (!team.is_readable(offered, data.size())) {
    std::byte* const staged = team.staging().grown(data.size());
    if (staged != nullptr) copy(data, staged);
    offered = staged;
  }
  team.publish(offered, data.size());
  if (offered == nullptr) return false;
  team.count_all(data.size(), purpose);
  team.leave();
  return true;
}

void barrier(Team& team) {
  team.begin("barrier/direct");
  team.publish_slot();
  for (int d = 1; d < team.size(); ++d) (void)team.await_slot(team.neighbour(d));
}

}  // namespace twinax::collective::direct
