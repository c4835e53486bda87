// Messages from rank 0 to rank 1 over the ucx transport: mpirun -n 2 ucx_bench BYTES MESSAGES WINDOW
// Each rank keeps to a core of its own, and its waits spin, as those of ucx_perftest do.
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

#include "twinax/base/clock.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/ucx_transport.hpp"

namespace {

using namespace twinax;

/// The calling thread keeps to the `index`-th core that it may use, if there is one.
bool keep_to_core(int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    return sched_setaffinity(0, sizeof mine, &mine) == 0;
  }
  return false;
}

/// `messages` of them, `window` at a time in flight, in one buffer; the receiver tells when it has all.
void stream(net::Transport& transport, std::vector<std::byte>& data, int messages, int window) {
  std::vector<net::Request> flying(static_cast<std::size_t>(window));
  for (int i = 0; i < messages; ++i) {
    net::Request& slot = flying[static_cast<std::size_t>(i % window)];
    transport.wait(slot);
    slot = transport.rank() == 0 ? transport.send(data, 1, net::Tag{1}, net::Purpose::Metrics) : transport.receive(data, 0, net::Tag{1});
  }
  net::wait_all(transport, flying);
  std::byte end{};
  net::Request told = transport.rank() == 0 ? transport.receive(std::span(&end, 1), 1, net::Tag{2})
                                            : transport.send(std::span(&end, 1), 0, net::Tag{2}, net::Purpose::Metrics);
  transport.wait(told);
}

int measure(net::World& world, std::size_t bytes, int messages, int window) {
  if (world.size() != 2 || !keep_to_core(world.rank())) {
    if (world.rank() == 0) fmt::print("skipped: this needs 2 ranks and a core for each\n");
    return 77;
  }
  net::WaitContext context = world.wait_context();
  context.has_spare_cores = true;
  const auto transport = make_ucx_transport(*world.mpi_comm(), context, world.hosts());
  std::vector<std::byte> data(bytes, std::byte{1});
  stream(*transport, data, messages / 10 + window, window);
  const Seconds begin = world.clock().now();
  stream(*transport, data, messages, window);
  const Seconds took = world.clock().now() - begin;
  if (world.rank() == 0) {
    fmt::print("ucx_bench bytes {} bytes_per_s {:.6g}\n", bytes, static_cast<double>(bytes) * messages / took.value);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::atoll(argv[1]) < 0 || std::atoi(argv[2]) < 1 || std::atoi(argv[3]) < 1) {
    fmt::print(stderr, "usage: mpirun -n 2 ucx_bench BYTES MESSAGES WINDOW\n");
    return 2;
  }
  const auto bytes = static_cast<std::size_t>(std::atoll(argv[1]));
  const int messages = std::atoi(argv[2]);
  const int window = std::atoi(argv[3]);
  net::WorldOptions options;
  options.argc = &argc;
  options.argv = &argv;
  return net::run_world(options, [&](net::World& world) { return measure(world, bytes, messages, window); });
}
