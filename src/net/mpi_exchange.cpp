#include "net/mpi_exchange.hpp"

#include <numeric>

#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_env.hpp"

namespace twinax::net {

std::vector<std::vector<std::byte>> gather_bytes(const MpiComm& comm, std::span<const std::byte> mine) {
  const auto ranks = narrow<std::size_t>(comm.size());
  std::vector<int> lengths(ranks), begins(ranks);
  const int length = narrow<int>(mine.size());
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm.get()), "gathering the lengths of all ranks' bytes");
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::vector<std::byte> all(narrow<std::size_t>(begins.back() + lengths.back()));
  check_mpi(MPI_Allgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(), begins.data(), MPI_BYTE, comm.get()),
            "gathering all ranks' bytes");
  std::vector<std::vector<std::byte>> parts;
  for (std::size_t r = 0; r < ranks; ++r) parts.emplace_back(all.begin() + begins[r], all.begin() + begins[r] + lengths[r]);
  return parts;
}

MpiBarrier::MpiBarrier(const MpiComm& comm) {
  check_mpi(MPI_Ibarrier(comm.get(), &request_), "entering a barrier");
}

bool MpiBarrier::is_done() {
  int is_done = 0;
  check_mpi(MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE), "waiting in a barrier");
  return is_done != 0;
}

}  // namespace twinax::net
