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
#include "twinax/collective/own_collectives.hpp"
#include "twinax/fsdp/trainer.hpp"
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

  /// What steps use: all ranks, and where units are sharded inside nodes the ranks of this one's node and place.
  [[nodiscard]] fsdp::RankGroups groups() { return {.all = *all_, .node = in_node_.get(), .across = across_.get()}; }
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
  [[nodiscard]] std::vector<std::int64_t> sent() const;
  [[nodiscard]] Bytes sent_where(bool in_node) const;

  void share_memory(net::World& world, const Config& config, bool is_shaped, Bytes buffers);
  void connect_steps(net::World& world, const Config& config, bool is_shaped, const std::vector<collective::Choice>& choices);
  /// The collectives of some of the group's ranks; `ranks_per_node` and `node` are those of these ranks.
  std::unique_ptr<collective::Collectives> connect(net::World& world, const Config& config, const collective::Group& group,
                                                   collective::OwnOptions options, bool is_shaped);

  collective::Group group_;
  collective::Group node_group_;  // the ranks that units are sharded over: all, or those of this rank's node
  int ranks_per_node_;
  std::unique_ptr<net::Transport> shaped_;
  std::unique_ptr<net::CountedTransport> counted_;
  std::unique_ptr<collective::NodeMemory> node_;
  std::string choices_;
  std::unique_ptr<collective::Collectives> all_;
  std::unique_ptr<collective::Collectives> in_node_, across_;  // where units are sharded inside nodes
  std::vector<collective::NativeCollectives*> natives_;        // of these, those that are MPI's
  std::unique_ptr<collective::Collectives> control_;
};

/// Ranks of a node: `net.ranks_per_node`, or one under a profile, or all of a host.
[[nodiscard]] int ranks_per_node(const Config& config, const net::World& world, int ranks);

/// Refuses what Links could not connect: a profile with native collectives or ranks on several hosts, or faster than this machine carries;
/// native collectives without MPI. Not collective. Throws ConfigError or InvalidArgument.
void check_links(const Config& config, const net::World& world, const std::optional<net::Profile>& profile, double dilation, int ranks);

}  // namespace twinax::app
