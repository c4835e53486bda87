#include <algorithm>
#include <vector>

#include "collective/algorithms.hpp"

namespace twinax::collective {

void reduce_scatter_hierarchical(Channel& channel, const NodeLayout& layout, std::span<const float> whole, std::span<float> shard,
                                 std::vector<float>& scratch, net::Purpose purpose) {
  channel.begin("reduce_scatter/hierarchical", purpose);
  const std::size_t n = shard.size();
  const auto nodes = static_cast<std::size_t>(layout.nodes);
  const int node = channel.index() / layout.ranks_per_node;
  const int place = channel.index() % layout.ranks_per_node;
  if (scratch.size() < whole.size() + 2 * n) scratch.resize(whole.size() + 2 * n);
  // What arrives from the member at a place of this node: its contributions to this place's pieces of all nodes. The own place's part
  // becomes the node's sums.
  const auto arrived = [&](int its_place) {
    return std::span(scratch).subspan(static_cast<std::size_t>(its_place) * nodes * n, nodes * n);
  };
  const auto given = [&](int to_node, int to_place) {
    return whole.subspan(static_cast<std::size_t>(layout.index(to_node, to_place)) * n, n);
  };
  std::vector<net::Request> receives;
  std::vector<int> from;
  for (int d = 1; d < layout.ranks_per_node; ++d) {
    const int their_place = (place + d) % layout.ranks_per_node;
    for (std::size_t k = 0; k < nodes; ++k) {
      from.push_back(layout.index(node, their_place));
      receives.push_back(channel.receive(std::as_writable_bytes(arrived(their_place).subspan(k * n, n)), from.back()));
    }
  }
  for (int d = 1; d < layout.ranks_per_node; ++d) {
    const int their_place = (place - d + layout.ranks_per_node) % layout.ranks_per_node;
    for (int k = 0; k < layout.nodes; ++k) channel.send_later(std::as_bytes(given(k, their_place)), layout.index(node, their_place));
  }
  const std::span<float> sums = arrived(place);
  for (std::size_t k = 0; k < nodes; ++k) std::ranges::copy(given(static_cast<int>(k), place), sums.subspan(k * n, n).begin());
  for (std::size_t i = 0; i < receives.size(); ++i) channel.wait(receives[i], from[i]);
  for (int other = 0; other < layout.ranks_per_node; ++other) {
    if (other == place) continue;
    const std::span<const float> part = arrived(other);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  channel.wait_sends();
  reduce_round(channel, layout.across(channel.index()), sums, shard, std::span(scratch).subspan(whole.size(), 2 * n));
}

}  // namespace twinax::collective
