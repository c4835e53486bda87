#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collective/channel.hpp"

namespace twinax::collective {

/// Some members of a channel's group, in the order in which a ring goes through them.
struct Circle {
  std::vector<int> members;  ///< group indices
  int place = 0;             ///< of this member

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  /// The place `distance` further round.
  [[nodiscard]] int further(int distance) const { return ((place + distance) % size() + size()) % size(); }
  /// Who is there.
  [[nodiscard]] int member(int at_place) const { return members[static_cast<std::size_t>(at_place)]; }

  /// The whole group.
  [[nodiscard]] static Circle of(const Channel& channel) {
    Circle circle{.members = {}, .place = channel.index()};
    for (int i = 0; i < channel.size(); ++i) circle.members.push_back(i);
    return circle;
  }
};

/// A group laid out over nodes: each has `ranks_per_node` consecutive members.
struct NodeLayout {
  int nodes = 1;
  int ranks_per_node = 1;
  /// Nodes of equal size, several of them, with several members each: what hierarchical algorithms are for.
  [[nodiscard]] static bool is_hierarchy(int members, int ranks_per_node) {
    return ranks_per_node > 1 && members > ranks_per_node && members % ranks_per_node == 0;
  }
  [[nodiscard]] int index(int node, int place) const { return node * ranks_per_node + place; }
  /// The members that have this one's place in their nodes.
  [[nodiscard]] Circle across(int own_index) const {
    Circle circle{.members = {}, .place = own_index / ranks_per_node};
    for (int node = 0; node < nodes; ++node) circle.members.push_back(index(node, own_index % ranks_per_node));
    return circle;
  }
};

/// Pieces of equal size at equal distances: `at(place)` is first + place * stride.
struct Pieces {
  std::span<std::byte> whole;
  std::size_t first = 0;
  std::size_t stride = 0;
  std::size_t size = 0;
  [[nodiscard]] std::span<std::byte> at(int place) const { return whole.subspan(first + static_cast<std::size_t>(place) * stride, size); }
};

}  // namespace twinax::collective
