#pragma once

#include <cstdint>
#include <string_view>

#include "twinax/base/units.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/net/profile.hpp"

namespace twinax::collective {

/// The bytes of one operation. Nodes hold `ranks_per_node` consecutive members.
struct Traffic {
  Bytes into_node{0};     ///< through a node's NIC, from other nodes
  Bytes into_rank{0};     ///< into one rank from other ranks of its node, at most
  Bytes through_pair{0};  ///< from one rank to one of another node, at most
};

/// The closed form for `whole` bytes (as on the wire, padding included) by "ring", "pairwise" (reductions only: gathers are rings) or
/// "hierarchical" (a ring, where nodes are not of equal size, several, and of several ranks).
/// Of a broadcast: the least that any algorithm can do.
///
/// Source: a flat ring brings (W-1)/W of the whole into each node; the pairwise exchange what every foreign rank sends to every rank of the
/// node.
[[nodiscard]] Traffic traffic(Operation operation, std::string_view algorithm, Bytes whole, int ranks, int ranks_per_node);

/// The least time the operation can take on a network: bytes / rate + one latency, where each pair of ranks has
/// one stream. 0 for one rank.
[[nodiscard]] Seconds bound(const Traffic& traffic, const net::Profile& profile);

}  // namespace twinax::collective
