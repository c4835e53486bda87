#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/net/transport.hpp"

#include "collective/channel.hpp"

namespace twinax::collective {

/// Ring all-gather in place: whole is size() equal pieces, of which the own is filled. Each rank receives (P-1)/P of whole in P-1 steps,
/// pipelined by segments.
///
/// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
void all_gather_ring(Channel& channel, std::span<std::byte> whole, net::Purpose purpose);

/// Ring reduce-scatter of fp32: partial sums travel; piece c is summed from member c + 1 round to member c. `scratch` holds 2 pieces.
/// Clobbers whole.
///
/// Source: as above.
void reduce_scatter_ring(Channel& channel, std::span<float> whole, std::span<float> shard, std::span<float> scratch, net::Purpose purpose);

/// Pairwise reduce-scatter: every contribution travels once, straight to where it is summed, in fp32 and in the group's order. Rounds
/// nothing but the contributions. `scratch` holds size() pieces of the wire's type to send (none for fp32), and size() to receive.
void reduce_scatter_pairwise(Channel& channel, std::span<const float> whole, std::span<float> shard, std::vector<std::byte>& scratch,
                             Dtype wire, net::Purpose purpose);

/// Everyone sends everything to everyone: one step, for small data. mine [n], all [size() * n]. May be in place.
void all_gather_direct(Channel& channel, std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose);

/// Binomial tree from `root`.
void broadcast_tree(Channel& channel, std::span<std::byte> data, int root, net::Purpose purpose);

/// Dissemination: log2 of size() rounds of empty messages.
///
/// Source: Hensgen, Finkel, Manber, IJPP 17(1), 1988.
void barrier_dissemination(Channel& channel);

}  // namespace twinax::collective
