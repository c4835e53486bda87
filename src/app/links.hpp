#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/counted.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/net/shaped.hpp"

namespace twinax::app {

/// How the ranks of one run are connected: what a step sends is counted, and shaped if there is a profile; control messages are neither.
class Links {
 public:
  /// Collective on the world; ranks outside the group get no collectives. `profile` as it is to be applied, or null.
  Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile);

  /// What steps use.
  [[nodiscard]] collective::Collectives& steps() { return *steps_; }
  /// For figures, choices and dumps between steps.
  [[nodiscard]] collective::Collectives& control() { return *control_; }
  /// Ranks of an emulated (or, unshaped, real) node.
  [[nodiscard]] int ranks_per_node() const { return ranks_per_node_; }
  /// Bytes sent so far to ranks of other nodes, and of the own.
  [[nodiscard]] Bytes sent_between_nodes() const;
  [[nodiscard]] Bytes sent_in_node() const;
  /// Bytes sent so far: [from][to][purpose], on all members. Collective on the group.
  [[nodiscard]] std::vector<std::int64_t> all_sent();

 private:
  collective::Group group_;
  int ranks_per_node_;
  std::unique_ptr<net::Transport> shaped_;
  std::unique_ptr<net::CountedTransport> counted_;
  std::unique_ptr<collective::Collectives> steps_;
  std::unique_ptr<collective::Collectives> control_;
};

/// Ranks of a node: `net.ranks_per_node`, or one under a profile, or all of a host.
[[nodiscard]] int ranks_per_node(const Config& config, const net::World& world, int ranks);

}  // namespace twinax::app
