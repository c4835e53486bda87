#include <vector>

#include "collective/algorithms.hpp"

namespace twinax::collective {

void all_gather_hierarchical(Channel& channel, const NodeLayout& layout, std::span<std::byte> whole, net::Purpose purpose) {
  channel.begin("all_gather/hierarchical", purpose);
  const std::size_t n = whole.size() / static_cast<std::size_t>(channel.size());
  const int node = channel.index() / layout.ranks_per_node;
  const int place = channel.index() % layout.ranks_per_node;
  const auto pieces_of = [&](int its_place) {
    return Pieces{.whole = whole,
                  .first = static_cast<std::size_t>(its_place) * n,
                  .stride = static_cast<std::size_t>(layout.ranks_per_node) * n,
                  .size = n};
  };
  gather_round(channel, layout.across(channel.index()), pieces_of(place));
  std::vector<net::Request> receives;
  std::vector<int> from;
  for (int d = 1; d < layout.ranks_per_node; ++d) {
    const int their_place = (place + d) % layout.ranks_per_node;
    for (int k = 0; k < layout.nodes; ++k) {
      from.push_back(layout.index(node, their_place));
      receives.push_back(channel.receive(pieces_of(their_place).at(k), from.back()));
    }
  }
  for (int d = 1; d < layout.ranks_per_node; ++d) {
    const int their_place = (place - d + layout.ranks_per_node) % layout.ranks_per_node;
    for (int k = 0; k < layout.nodes; ++k) channel.send_later(pieces_of(place).at(k), layout.index(node, their_place));
  }
  for (std::size_t i = 0; i < receives.size(); ++i) channel.wait(receives[i], from[i]);
  channel.wait_sends();
}

}  // namespace twinax::collective
