#pragma once

#include <vector>

namespace twinax::collective {

/// Ranks of a transport that take part, in the group's order; `ranks[index]` is this rank.
struct Group {
  std::vector<int> ranks;
  int index = 0;
  /// The number of members.
  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  /// Ranks 0 to `size` - 1, seen from `rank`. A rank outside gets index -1.
  [[nodiscard]] static Group first(int size, int rank) {
    Group group;
    for (int r = 0; r < size; ++r) group.ranks.push_back(r);
    group.index = rank < size ? rank : -1;
    return group;
  }
};

}  // namespace twinax::collective
