#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "twinax/collective/group.hpp"

#include "support/run_loopback.hpp"

namespace twinax::test {

/// Members of a group among the ranks of a world, in the group's order.
struct Members {
  int world = 1;
  std::vector<int> ranks;
  /// The number of members.
  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  /// The group as `rank` sees it; index -1 outside.
  [[nodiscard]] collective::Group seen_from(int rank) const {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    return {.ranks = ranks, .index = found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin())};
  }
  /// For messages of tests.
  [[nodiscard]] std::string text() const {
    std::string text = "members";
    for (const int rank : ranks) text += " " + std::to_string(rank);
    return text + " of " + std::to_string(world);
  }
};

/// All of `size` ranks, in order.
inline Members all_of(int size) {
  return {.world = size, .ranks = collective::Group::first(size, 0).ranks};
}

/// All of 1 to 7 ranks, and some of them in reversed order.
inline std::vector<Members> every_group() {
  std::vector<Members> groups;
  for (int size = 1; size <= 7; ++size) groups.push_back(all_of(size));
  groups.push_back({.world = 3, .ranks = {1}});
  groups.push_back({.world = 4, .ranks = {3, 1}});
  groups.push_back({.world = 6, .ranks = {4, 3, 1}});
  groups.push_back({.world = 5, .ranks = {4, 3, 2, 1, 0}});
  return groups;
}

/// Runs `body` on every member, each in a thread of its own; ranks outside do nothing.
inline void run_members(const Members& members, const std::function<void(net::Transport&, const collective::Group&)>& body) {
  run_loopback(members.world, [&](net::Transport& transport) {
    const collective::Group group = members.seen_from(transport.rank());
    if (group.index >= 0) body(transport, group);
  });
}

}  // namespace twinax::test
