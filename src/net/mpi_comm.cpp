#include "twinax/net/mpi_comm.hpp"

#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_env.hpp"

namespace twinax::net {
namespace {

struct MpiGroupTraits {
  using Native = MPI_Group;
  static MPI_Group null() noexcept { return MPI_GROUP_NULL; }
  static void close(MPI_Group group) noexcept { MPI_Group_free(&group); }
};

}  // namespace

void MpiCommTraits::close(MPI_Comm comm) noexcept {
  int is_finalized = 0;
  if (MPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized != 0) return;
  if (MPI_Comm_free(&comm) != MPI_SUCCESS) log_error("freeing an MPI communicator failed");
}

MpiComm::MpiComm(MPI_Comm owned) : handle_(owned) {
  check_mpi(MPI_Comm_rank(owned, &rank_), "asking a communicator for this rank");
  check_mpi(MPI_Comm_size(owned, &size_), "asking a communicator for its size");
}

MpiComm duplicate(MPI_Comm parent) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(parent, &copy), "duplicating a communicator");
  return MpiComm(copy);
}

MpiComm split_by_host(MPI_Comm parent) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "splitting a communicator by host");
  return MpiComm(host);
}

MpiComm subgroup(MPI_Comm parent, const std::vector<int>& ranks) {
  constexpr int kTag = 0;
  MPI_Group all = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(parent, &all), "asking a communicator for its group");
  const Handle<MpiGroupTraits> owned_all(all);
  MPI_Group some = MPI_GROUP_NULL;
  check_mpi(MPI_Group_incl(all, narrow<int>(ranks.size()), ranks.data(), &some), "choosing ranks of a group");
  const Handle<MpiGroupTraits> owned_some(some);
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_create_group(parent, some, kTag, &comm), "making a communicator of some ranks");
  return MpiComm(comm);
}

}  // namespace twinax::net
