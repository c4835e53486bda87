#pragma once

#include <vector>

#include <mpi.h>

#include "twinax/base/handle.hpp"

namespace twinax::net {

/// How a communicator is closed: freed, unless MPI is finalized already.
struct MpiCommTraits {
  using Native = MPI_Comm;
  static MPI_Comm null() noexcept { return MPI_COMM_NULL; }
  static void close(MPI_Comm comm) noexcept;
};

/// The owner of a communicator. Freeing it is collective, so it can't be copied.
class MpiComm {
 public:
  /// Takes over a communicator. Throws MpiError.
  explicit MpiComm(MPI_Comm owned);
  /// The view.
  [[nodiscard]] MPI_Comm get() const { return handle_.get(); }
  /// This process's rank in it.
  [[nodiscard]] int rank() const { return rank_; }
  /// How many ranks it has.
  [[nodiscard]] int size() const { return size_; }

 private:
  Handle<MpiCommTraits> handle_;
  int rank_ = 0;
  int size_ = 0;
};

/// A communicator of the same ranks, whose messages meet no others. Collective on `parent`.
[[nodiscard]] MpiComm duplicate(MPI_Comm parent);
/// The ranks of `parent` that MPI places on this rank's host; whether they can share memory is another question. Collective on `parent`.
[[nodiscard]] MpiComm split_by_host(MPI_Comm parent);
/// Some ranks of `parent`, in the order given. Collective on those ranks alone; all give the same list.
[[nodiscard]] MpiComm subgroup(MPI_Comm parent, const std::vector<int>& ranks);

}  // namespace twinax::net
