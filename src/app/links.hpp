#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/native_mpi.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/counted.hpp"
#include "twinax/net/profile.hpp"

namespace twinax::app {

/// How the ranks of one run are connected: what a step sends is counted, and shaped if there is a profile; control messages are neither.
class Links {
 public:
  /// Collective on the world; ranks outside the group get no collectives. `profile` as it is to be applied, `dilation` included; null =
  /// unshaped. Throws InvalidArgument for native collectives that can't be had or shaped.
  Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile);

  /// What steps use.
  [[nodiscard]] collective::Collectives& steps() { return *steps_; }
  /// For figures, choices and dumps between steps.
  [[nodiscard]] collective::Collectives& control() { return *control_; }
  /// Bytes sent so far to ranks of other nodes, and of the own.
  [[nodiscard]] Bytes sent_between_nodes() const;
  [[nodiscard]] Bytes sent_in_node() const;
  /// Bytes sent so far: [from][to][purpose], on all members. Collective on the group.
  [[nodiscard]] std::vector<std::int64_t> all_sent();

 private:
  [[nodiscard]] const std::vector<std::int64_t>& sent() const;
  [[nodiscard]] Bytes sent_where(bool in_node) const;

  collective::Group group_;
  int ranks_per_node_;
  std::unique_ptr<net::Transport> shaped_;
  std::unique_ptr<net::CountedTransport> counted_;
  std::unique_ptr<collective::Collectives> steps_;
  collective::NativeCollectives* native_ = nullptr;  // steps_, where that is MPI's
  std::unique_ptr<collective::Collectives> control_;
};

/// Ranks of a node: `net.ranks_per_node`, or one under a profile, or all of a host.
[[nodiscard]] int ranks_per_node(const Config& config, const net::World& world, int ranks);

/// Refuses what Links could not connect: a profile with native collectives or ranks on several hosts, or faster than this machine carries;
/// native collectives without MPI. Not collective. Throws ConfigError or InvalidArgument.
void check_links(const Config& config, const net::World& world, const std::optional<net::Profile>& profile, double dilation, int ranks);

}  // namespace twinax::app
