#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/net/transport.hpp"

#include "collective/channel.hpp"
#include "collective/circle.hpp"

namespace twinax::collective {

/// Ring all-gather in place: whole is size() equal pieces, of which the own is filled. Each rank receives (P-1)/P of whole in P-1 steps,
/// pipelined by segments.
///
/// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
void all_gather_ring(Channel& channel, std::span<std::byte> whole, net::Purpose purpose);

/// The same among some of the members, in the operation begun: each place of the circle holds the piece of its number.
void gather_round(Channel& channel, const Circle& circle, const Pieces& pieces);

/// Ring reduce-scatter of fp32: partial sums travel; piece c is summed from member c + 1 round to member c. `scratch` holds 2 pieces.
/// Clobbers whole.
///
/// Source: as above.
void reduce_scatter_ring(Channel& channel, std::span<float> whole, std::span<float> shard, std::span<float> scratch, net::Purpose purpose);

/// The same among some of the members, in the operation begun: the place k of the circle gets the k-th piece's sum.
void reduce_round(Channel& channel, const Circle& circle, std::span<float> whole, std::span<float> shard, std::span<float> scratch);

/// Pairwise reduce-scatter: every contribution travels once, straight to where it is summed, in fp32 and in the group's order. Rounds
/// nothing but the contributions. `scratch` holds size() pieces of the wire's type to send (none for fp32), and size() to receive.
void reduce_scatter_pairwise(Channel& channel, std::span<const float> whole, std::span<float> shard, std::vector<std::byte>& scratch,
                             Dtype wire, net::Purpose purpose);

/// Everyone sends everything to everyone: one step, for small data. mine [n], all [size() * n]. May be in place.
void all_gather_exchange(Channel& channel, std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose);

/// Gathers between nodes by rings of the members with the same place in their nodes, then inside each node by an exchange: each piece
/// enters a node once. whole is size() equal pieces, of which the own is filled.
///
/// Source: Traff, Hempel, MPI collectives for clusters of SMP nodes, EuroPVM/MPI 2003; Thakur et al. as above for the ring.
void all_gather_hierarchical(Channel& channel, const NodeLayout& layout, std::span<std::byte> whole, net::Purpose purpose);

/// Sums inside each node by an exchange, then between nodes by rings of the members with the same place: what enters a node is one partial
/// sum of each other node. `scratch` is grown to 1 whole and 2 pieces.
void reduce_scatter_hierarchical(Channel& channel, const NodeLayout& layout, std::span<const float> whole, std::span<float> shard,
                                 std::vector<float>& scratch, net::Purpose purpose);

/// Recursive doubling: the fewest steps, log2 of size(), which is a power of two. whole as for the ring.
///
/// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
void all_gather_recursive(Channel& channel, std::span<std::byte> whole, net::Purpose purpose);

/// Recursive halving of fp32, size() a power of two; clobbers whole. `scratch` is grown to half of it.
///
/// Source: as above.
void reduce_scatter_recursive(Channel& channel, std::span<float> whole, std::span<float> shard, std::vector<float>& scratch,
                              net::Purpose purpose);

/// Recursive doubling of whole sums of fp32, size() a power of two: for small data. `scratch` is grown to `values`.
///
/// Source: as above. Both sides of a step add the same two numbers, so that all members have the same bits.
void all_reduce_recursive(Channel& channel, std::span<float> values, std::vector<float>& scratch, net::Purpose purpose);

/// Binomial tree from `root`.
void broadcast_tree(Channel& channel, std::span<std::byte> data, int root, net::Purpose purpose);

/// Dissemination: log2 of size() rounds of empty messages.
///
/// Source: Hensgen, Finkel, Manber, IJPP 17(1), 1988.
void barrier_dissemination(Channel& channel);

}  // namespace twinax::collective
