#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "twinax/net/mpi_comm.hpp"

namespace twinax::net {

/// Which ranks form a node: the lowest rank without one leads, those that reach its memory follow, until all have one. Returns each rank's
/// leader. `reach(leader)` says who can map the leader's memory; that the leader itself can is taken for granted.
[[nodiscard]] std::vector<int> group_by_reach(int ranks, const std::function<std::vector<bool>(int leader)>& reach);

/// Names that differ where nodes do: the second node that is called "a" becomes "a#2". `node_of_rank` holds any number that all ranks of a
/// node have in common.
[[nodiscard]] std::vector<std::string> tell_apart(std::span<const std::string> hosts, std::span<const int> node_of_rank);

/// Splits ranks that MPI takes for those of one host into those that can really share memory, see each other's processes and have one
/// clock: containers of one machine, which may even have its name, often can't. Says so in the log. Collective on `host`.
[[nodiscard]] MpiComm split_by_memory(const MpiComm& host);

}  // namespace twinax::net
