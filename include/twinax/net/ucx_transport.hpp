#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

class MpiComm;

/// How often a transport's waits slept on UCX's event descriptor.
struct UcxSleeps {
  std::int64_t sleeps = 0;
  std::int64_t timeouts = 0;      ///< of those, that nothing ended but the time-out
  std::int64_t lost_wakeups = 0;  ///< of those, in which a message had come, unannounced
};

/// UCX (UCP) between the ranks of a communicator, which outlives it and is used to exchange addresses and to leave together.
///
/// UCX chooses the wires: shared memory, TCP, InfiniBand; UCX_TLS and UCX_NET_DEVICES narrow its choice. `hosts`: each rank's, for
/// messages. A peer that UCX finds dead ends the waits for it with PeerLost. `sleeps` outlives the transport, if given. Collective: on
/// `comm`, and so is destroying it, which waits for the other ranks (for 5 s at most). Errors: a message that is longer or shorter than its
/// receive is an InvalidArgument there.
[[nodiscard]] std::unique_ptr<Transport> make_ucx_transport(const MpiComm& comm, const WaitContext& context,
                                                            const std::vector<std::string>& hosts, UcxSleeps* sleeps = nullptr);

/// The version of the UCX library, "1.13.1".
[[nodiscard]] std::string ucx_version();

}  // namespace twinax::net
