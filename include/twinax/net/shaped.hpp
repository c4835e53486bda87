#pragma once

#include <cstdint>
#include <memory>

#include "twinax/base/units.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// How a transport is shaped.
struct ShapeOptions {
  Profile profile;         ///< as it is applied: after dilation
  Bytes chunk{256 << 10};  ///< messages are booked in pieces of this size; the same on all ranks
  std::uint64_t seed = 1;  ///< of the jitter
};

/// Makes another transport, which outlives it, as slow as a network, by stamps.
///
/// Each chunk of a message is booked on the sender's NIC when it is posted; its stamp travels with it. When its first byte arrives it is
/// booked on the receiver's NIC (cut-through: its own time there overlaps the sender's), and its receive completes no earlier. Messages to
/// ranks of the own node use the in-node links; those to oneself are free. At most 10 ms (or two chunks) of a flow are booked ahead, so
/// that flows take turns.
///
/// All ranks share one clock (one host) and one board. Threads: one at a time.
[[nodiscard]] std::unique_ptr<Transport> make_shaped(Transport& inner, const WaitContext& context, const ShapeOptions& options,
                                                     const NicBoard& board);

/// Refuses rates that a pair of busy processes can't carry. `dilation` is what `applied` was dilated by, and `uses_in_node` whether any
/// node has several ranks. Throws InvalidArgument with the dilation that would do.
void check_carried(const Profile& applied, double dilation, bool uses_in_node);

}  // namespace twinax::net
