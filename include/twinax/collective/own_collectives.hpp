#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::collective {

/// What `collective.algorithm` may say. A name holds for the operations that have such an algorithm; others take a ring or a tree.
inline constexpr std::array kAlgorithms{
    AlgorithmRow{"auto", "direct inside a node, hierarchical over several nodes of several ranks, else rings"},
    AlgorithmRow{"ring",
                 "partial sums travel round a ring: the fewest bytes into each node; with bf16 on the wire, pairwise is used instead"},
    AlgorithmRow{
        "pairwise",
        "every contribution goes straight to where it is summed: no rounding of sums, one step, more bytes into a node of several ranks"},
    AlgorithmRow{"exchange", "gathers and all-reduces in one step, in which everyone sends everything to everyone"},
    AlgorithmRow{"recursive", "doubling and halving: the fewest steps; for a power of two of ranks"},
    AlgorithmRow{"direct", "the ranks of one node read each other's memory in place; sums have the same bits as pairwise"},
    AlgorithmRow{
        "hierarchical",
        "inside nodes of equal size apart from between them: the fewest bytes into each node; sums with less than fp32 on the wire "
        "are pairwise"}};

/// How the own collectives work. An algorithm that can't run (direct without common memory, recursive for 3 ranks, hierarchical for nodes
/// of unequal size) is replaced by a ring, direct sums by pairwise, whose bits are the same.
struct OwnOptions {
  std::uint8_t lane = 1;             ///< a part of every tag: two objects on one transport need two lanes
  std::string algorithm = "auto";    ///< a name of kAlgorithms
  std::vector<Choice> choices{};     ///< by size: come before `algorithm`, for the operations that they name
  Bytes segment = {1 << 20};         ///< messages are cut into pieces of this size, so that summing overlaps the wire
  ActivitySlot* activity = nullptr;  ///< told what is waited for, by `clock`
  Clock* clock = nullptr;
  int ranks_per_node = 1;      ///< nodes hold so many consecutive members: for hierarchical
  NodeMemory* node = nullptr;  ///< what all members map in common, for direct; null if they can't. Outlives the collectives
  net::WaitContext wait{};     ///< how members wait for each other in it
  /// Told what peers read from this member in place of messages, which the transport counts.
  std::function<void(int to_rank, std::int64_t bytes, net::Purpose purpose)> count{};
};

/// Collectives by this project's algorithms.
class OwnCollectives : public Collectives {
 public:
  /// Which algorithm runs at which size, for every operation.
  [[nodiscard]] virtual const std::vector<Choice>& choices() const = 0;
};

/// Collectives by this project's algorithms over any transport. The transport outlives them.
///
/// Throws:     InvalidArgument if this rank is not in the group, or for an unknown algorithm.
[[nodiscard]] std::unique_ptr<OwnCollectives> make_own(net::Transport& transport, Group group, const OwnOptions& options);

}  // namespace twinax::collective
