#pragma once

#include <cstddef>
#include <memory>

#include "twinax/base/handle.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/mpi_comm.hpp"

namespace twinax::net {

/// How a file descriptor is closed.
struct DescriptorTraits {
  using Native = int;
  static int null() noexcept { return -1; }
  static void close(int descriptor) noexcept;
};

/// Where memory without a name is found: a process of this host, and its descriptor there.
struct MemoryPlace {
  long process = -1;
  long descriptor = -1;
  /// False where it could not be made.
  [[nodiscard]] bool is_there() const { return process >= 0; }
};

/// Zeroed memory that other processes can map as long as this is open.
struct SharedMemory {
  Handle<DescriptorTraits> descriptor;
  MemoryPlace place;
};

/// Makes memory of this process; its place is not there if that failed.
[[nodiscard]] SharedMemory make_shared_memory(Bytes size);
/// Maps the memory of this or another process. Throws SystemError.
[[nodiscard]] std::shared_ptr<std::byte[]> map_place(const MemoryPlace& place, Bytes size);

/// Zeroed memory that the processes of one host map in common. It has no name anywhere, so that nothing is left of it after a crash.
///
/// Collective: on `host`, with the same size. Throws SystemError, on all ranks if on one.
[[nodiscard]] std::shared_ptr<std::byte[]> map_in_common(const MpiComm& host, Bytes size);

}  // namespace twinax::net
