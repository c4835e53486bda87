#pragma once

#include <cstddef>
#include <memory>

#include "twinax/base/units.hpp"
#include "twinax/net/token_bucket.hpp"

namespace twinax::net {

/// Both directions of a link.
struct Nic {
  alignas(64) TokenBucket out;
  alignas(64) TokenBucket in;
};

/// The NICs of all emulated nodes, and each rank's link to the other ranks of its node, in memory that all ranks share.
class NicBoard {
 public:
  /// How much zeroed memory the board of `ranks` ranks needs.
  [[nodiscard]] static Bytes size(int ranks);
  /// Throws InvalidArgument if `ranks_per_node` is less than 1.
  NicBoard(std::shared_ptr<std::byte[]> memory, int ranks, int ranks_per_node);

  /// The node of a rank: consecutive ranks share one.
  [[nodiscard]] int node_of(int rank) const { return rank / ranks_per_node_; }
  /// The NIC that a rank shares with the other ranks of its node.
  [[nodiscard]] Nic& node_nic(int rank) const { return nics_[node_of(rank)]; }
  /// The rank's own link inside its node.
  [[nodiscard]] Nic& in_node_link(int rank) const { return nics_[ranks_ + rank]; }

 private:
  std::shared_ptr<std::byte[]> memory_;  // shared: the memory lives as long as any rank that maps it
  Nic* nics_;
  int ranks_;
  int ranks_per_node_;
};

}  // namespace twinax::net
