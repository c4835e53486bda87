// Two ranks without a watchdog: the second is killed while the first waits for its message, and UCX must tell. To be run under
// mpirun --enable-recovery, or the launcher ends the first as well.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "twinax/base/clock.hpp"
#include "twinax/base/error.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"
#include "twinax/net/ucx_transport.hpp"

int main(int argc, char** argv) {
  using namespace twinax;
  using namespace twinax::net;
  const MpiEnv env(&argc, &argv);
  const MpiComm world = duplicate(MPI_COMM_WORLD);
  SystemClock clock;
  const auto transport = make_ucx_transport(world, {.clock = &clock}, std::vector<std::string>(2, "the-host"));
  std::vector<std::byte> message(8);
  Request greeting = transport->receive(message, 1 - world.rank(), Tag{1});
  Request greet = transport->send(message, 1 - world.rank(), Tag{1}, Purpose::Control);
  transport->wait(greet);
  transport->wait(greeting);
  if (world.rank() == 1) {
    clock.sleep_until(clock.now() + Seconds{0.5});
    std::raise(SIGKILL);
  }
  try {
    Request never = transport->receive(message, 1, Tag{2});
    transport->wait(never);
    std::puts("a message came");
  } catch (const PeerLost& lost) {
    std::printf("PeerLost: %s\n", lost.what());
  }
  std::fflush(stdout);
  _exit(EXIT_SUCCESS);  // MPI can't be finalized without the other
}
