#include "net/mpi_shared_memory.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_env.hpp"

namespace twinax::net {
namespace {

struct DescriptorTraits {
  using Native = int;
  static int null() noexcept { return -1; }
  static void close(int descriptor) noexcept { ::close(descriptor); }
};
using Descriptor = Handle<DescriptorTraits>;

[[noreturn]] void fail(const std::string& doing) {
  throw SystemError(errno, fmt::format("{}: {}", doing, std::strerror(errno)));
}

std::shared_ptr<std::byte[]> map(int descriptor, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail(fmt::format("mapping {} bytes that ranks share", bytes));
  return {static_cast<std::byte*>(memory), [bytes](std::byte* begin) { munmap(begin, bytes); }};
}

/// The memory that another process has open.
Descriptor open_of(const std::array<long, 2>& place) {
  const std::string path = fmt::format("/proc/{}/fd/{}", place[0], place[1]);
  Descriptor memory(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory.is_open()) fail(fmt::format("opening another rank's shared memory, {}", path));
  return memory;
}

}  // namespace

std::shared_ptr<std::byte[]> map_in_common(const MpiComm& host, Bytes size) {
  const auto bytes = narrow<std::size_t>(size.value);
  std::array<long, 2> place{-1, -1};  // the first rank's process and descriptor
  Descriptor memory;
  if (host.rank() == 0) {
    memory = Descriptor(memfd_create("twinax", MFD_CLOEXEC));
    if (memory.is_open() && ftruncate(memory.get(), narrow<off_t>(size.value)) == 0) place = {getpid(), memory.get()};
  }
  check_mpi(MPI_Bcast(place.data(), 2, MPI_LONG, 0, host.get()), "telling where shared memory is");
  if (place[0] < 0) throw SystemError(ENOMEM, fmt::format("the first rank of this host can't make {} bytes of shared memory", bytes));
  // A rank that can't map it must not leave the others waiting: all fail if one does.
  std::shared_ptr<std::byte[]> mapped;
  std::exception_ptr failure;
  try {
    if (host.rank() != 0) memory = open_of(place);
    mapped = map(memory.get(), bytes);
  } catch (const SystemError&) {
    failure = std::current_exception();
  }
  int failures = failure == nullptr ? 0 : 1;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, host.get()), "waiting until all ranks have mapped shared memory");
  if (failure != nullptr) std::rethrow_exception(failure);
  if (failures > 0) throw SystemError(ENOMEM, fmt::format("{} ranks of this host can't map {} bytes of shared memory", failures, bytes));
  return mapped;
}

}  // namespace twinax::net
