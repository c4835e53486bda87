#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/native_mpi.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/counted.hpp"
#include "twinax/net/profile.hpp"

namespace twinax::app {

/// What a run wants of its links.
struct LinkRequest {
  std::vector<collective::Choice> choices;  ///< of collective algorithms, as agreed
  Bytes buffers{0};                         ///< what a rank's gathered units and gradients may take, at most, as far as one knows
};

/// How the ranks of one run are connected: what a step sends is counted, and shaped if there is a profile; control messages are neither.
class Links {
 public:
  /// Collective on the world; ranks outside the group get no collectives. `profile` as it is to be applied, `dilation` included; null =
  /// unshaped. Ranks of one host that are not shaped map memory in common. Throws InvalidArgument for native collectives that can't be had
  /// or shaped.
  Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile,
        const LinkRequest& request);

  /// What steps use.
  [[nodiscard]] collective::Collectives& steps() { return *steps_; }
  /// What steps' collectives send through: shaped if there is a profile, and counted.
  [[nodiscard]] net::CountedTransport& transport() { return *counted_; }
  /// For figures, choices and dumps between steps.
  [[nodiscard]] collective::Collectives& control() { return *control_; }
  /// Where buffers of collectives are best made: in memory that peers read; null if there is none.
  [[nodiscard]] std::pmr::memory_resource* heap() const { return node_.get(); }
  /// The collective algorithms that run, as lines of a record's choices.
  [[nodiscard]] const std::string& choices() const { return choices_; }
  /// Bytes sent so far to ranks of other nodes, and of the own.
  [[nodiscard]] Bytes sent_between_nodes() const;
  [[nodiscard]] Bytes sent_in_node() const;
  /// Bytes sent so far: [from][to][purpose], on all members. Collective on the group.
  [[nodiscard]] std::vector<std::int64_t> all_sent();

 private:
  [[nodiscard]] const std::vector<std::int64_t>& sent() const;
  [[nodiscard]] Bytes sent_where(bool in_node) const;

  void share_memory(net::World& world, const Config& config, bool is_shaped, Bytes buffers);
  void connect_steps(net::World& world, const Config& config, bool is_shaped, const std::vector<collective::Choice>& choices);

  collective::Group group_;
  int ranks_per_node_;
  std::unique_ptr<net::Transport> shaped_;
  std::unique_ptr<net::CountedTransport> counted_;
  std::unique_ptr<collective::NodeMemory> node_;
  std::string choices_;
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
