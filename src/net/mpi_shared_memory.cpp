#include "net/mpi_shared_memory.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_env.hpp"
#include "twinax/net/shared_memory.hpp"

namespace twinax::net {
namespace {

[[noreturn]] void fail(const std::string& doing) {
  throw SystemError(errno, fmt::format("{}: {}", doing, std::strerror(errno)));
}

}  // namespace

void DescriptorTraits::close(int descriptor) noexcept {
  ::close(descriptor);
}

SharedMemory make_shared_memory(Bytes size) {
  SharedMemory memory;
  memory.descriptor = Handle<DescriptorTraits>(memfd_create("twinax", MFD_CLOEXEC));
  if (memory.descriptor.is_open() && ftruncate(memory.descriptor.get(), narrow<off_t>(size.value)) == 0) {
    memory.place = {.process = getpid(), .descriptor = memory.descriptor.get()};
  }
  return memory;
}

std::shared_ptr<std::byte[]> map_place(const MemoryPlace& place, Bytes size) {
  const auto bytes = narrow<std::size_t>(size.value);
  const std::string path = fmt::format("/proc/{}/fd/{}", place.process, place.descriptor);
  const Handle<DescriptorTraits> descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!descriptor.is_open()) fail(fmt::format("opening a rank's shared memory, {}", path));
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || status.st_size < size.value) {  // a stranger's: reading beyond its end would be fatal
    throw SystemError(EINVAL, fmt::format("{} is no memory of {} bytes", path, bytes));
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (memory == MAP_FAILED) fail(fmt::format("mapping {} bytes that ranks share", bytes));
  return {static_cast<std::byte*>(memory), [bytes](std::byte* begin) { munmap(begin, bytes); }};
}

bool can_share_memory() {
  constexpr Bytes kSize{4096};
  const SharedMemory memory = make_shared_memory(kSize);
  try {
    return memory.place.is_there() && map_place(memory.place, kSize) != nullptr;
  } catch (const SystemError&) {
    return false;
  }
}

std::shared_ptr<std::byte[]> map_in_common(const MpiComm& host, Bytes size) {
  SharedMemory memory;  // the first rank's
  if (host.rank() == 0) memory = make_shared_memory(size);
  MemoryPlace place = memory.place;
  check_mpi(MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, host.get()), "telling where shared memory is");
  if (!place.is_there())
    throw SystemError(ENOMEM, fmt::format("the first rank of this host can't make {} bytes of shared memory", size.value));
  std::shared_ptr<std::byte[]> mapped;
  std::optional<SystemError> own;
  try {
    mapped = map_place(place, size);
  } catch (const SystemError& error) {
    own = error;
  }
  int worst = own ? 0 : 1;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MIN, host.get()),
            "agreeing on whether all ranks have mapped shared memory");
  if (own) throw SystemError(*own);
  if (worst == 0) throw SystemError(ENOMEM, fmt::format("another rank of this host can't map the {} bytes of shared memory", size.value));
  return mapped;
}

}  // namespace twinax::net
