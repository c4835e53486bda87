#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "twinax/net/mpi_comm.hpp"

namespace twinax::net {

/// Every rank's bytes, in rank order; their lengths may differ. Collective on `comm`.
[[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(const MpiComm& comm, std::span<const std::byte> mine);

/// A barrier in progress: what must go on meanwhile can go on between two looks. Making it is collective on `comm`.
class MpiBarrier {
 public:
  explicit MpiBarrier(const MpiComm& comm);
  /// Whether all ranks have arrived.
  [[nodiscard]] bool is_done();

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;  // a collective's request can't be freed or cancelled: one given up is left to MPI
};

}  // namespace twinax::net
