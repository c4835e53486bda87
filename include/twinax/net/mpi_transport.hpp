#pragma once

#include <memory>

#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// Point-to-point MPI on a communicator of its own, which outlives it; ranks are the communicator's.
///
/// Errors: messages over 2^31 - 1 bytes are refused (InvalidArgument): collectives and the shaper cut theirs long before.
[[nodiscard]] std::unique_ptr<Transport> make_mpi_transport(const MpiComm& comm, const WaitContext& context);

}  // namespace twinax::net
