#pragma once

#include <cstddef>
#include <span>

#include "twinax/base/dtype.hpp"
#include "twinax/net/transport.hpp"

#include "collective/direct/team.hpp"

/// Collectives of a node's ranks that read each other's memory. Those that return a bool do nothing and return false, on all members, if
/// some member's data can't be read by its peers: neither is it in its heap, nor has that room to stage it.
namespace twinax::collective::direct {

/// Each member copies its peers' shards. shard [n], whole [size() * n]; in place if shard is this member's slice of whole.
[[nodiscard]] bool all_gather(Team& team, std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose);

/// The same for small pieces of bytes, of at most NodeMemory::kSlotBytes. May be in place.
void all_gather_slots(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose);

/// Each member sums its slice of all wholes, in fp32 and the group's order. whole [size() * n] is not changed, shard [n].
[[nodiscard]] bool reduce_scatter(Team& team, std::span<const float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose);

/// Each member sums a slice of all members' values, then copies its peers' slices; any length.
[[nodiscard]] bool all_reduce(Team& team, std::span<float> values, Dtype wire, net::Purpose purpose);

/// The same in one step, for values of at most NodeMemory::kSlotBytes.
void all_reduce_slots(Team& team, std::span<float> values, Dtype wire, net::Purpose purpose);
void all_reduce_slots(Team& team, std::span<double> values, net::Purpose purpose);

/// All copy the root's data.
[[nodiscard]] bool broadcast(Team& team, std::span<std::byte> data, int root, net::Purpose purpose);

/// Returns when all have arrived.
void barrier(Team& team);

}  // namespace twinax::collective::direct
