#pragma once

#include <cstddef>
#include <memory>

#include "twinax/base/units.hpp"
#include "twinax/net/mpi_comm.hpp"

namespace twinax::net {

/// Zeroed memory that the processes of one host map in common. It has no name anywhere, so that nothing is left of it after a crash.
///
/// Collective: on `host`, with the same size. Throws SystemError.
[[nodiscard]] std::shared_ptr<std::byte[]> map_in_common(const MpiComm& host, Bytes size);

}  // namespace twinax::net
