#include "net/mpi_shared_memory.hpp"

#include <array>
#include <cerrno>
#include <cstring>
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
  if (host.rank() != 0) {
    const std::string path = fmt::format("/proc/{}/fd/{}", place[0], place[1]);
    memory = Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!memory.is_open()) fail(fmt::format("opening another rank's shared memory, {}", path));
  }
  std::shared_ptr<std::byte[]> mapped = map(memory.get(), bytes);
  check_mpi(MPI_Barrier(host.get()), "waiting until all ranks have mapped shared memory");
  return mapped;
}

}  // namespace twinax::net
