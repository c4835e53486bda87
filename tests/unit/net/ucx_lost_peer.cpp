// Three ranks without a watchdog: the last is killed while the others wait for its message, and UCX must tell. Those two then go on with
// each other: no wake-up is lost, and waits sleep. To be run under mpirun --enable-recovery, or the launcher ends all.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <unistd.h>

#include "twinax/base/clock.hpp"
#include "twinax/base/error.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"
#include "twinax/net/ucx_transport.hpp"

#include "support/throw_to_and_fro.hpp"

namespace {

using namespace twinax;
using namespace twinax::net;

constexpr int kLast = 2;
constexpr int kThrows = 1000;
constexpr Seconds kIdle{1};
constexpr double kMostOfACore = 0.05;

/// All have heard of each other.
void greet(Transport& transport) {
  const std::vector<std::byte> mine(8);
  std::vector<std::vector<std::byte>> theirs(static_cast<std::size_t>(transport.size()), std::vector<std::byte>(8));
  std::vector<Request> requests;
  for (int peer = 0; peer < transport.size(); ++peer) {
    if (peer == transport.rank()) continue;
    requests.push_back(transport.receive(theirs[static_cast<std::size_t>(peer)], peer, Tag{1}));
    requests.push_back(transport.send(mine, peer, Tag{1}, Purpose::Control));
  }
  wait_all(transport, requests);
}

std::string wait_for_the_last(Transport& transport) {
  std::vector<std::byte> message(8);
  try {
    Request never = transport.receive(message, kLast, Tag{2});
    transport.wait(never);
    return "a message came";
  } catch (const PeerLost& lost) {
    return std::string("PeerLost: ") + lost.what();
  }
}

/// Rank 0 waits for rank 1's number, which comes late; whether it slept meanwhile.
bool is_idle_until(Transport& transport, Clock& clock, std::int64_t& number) {
  if (transport.rank() == 1) {
    clock.sleep_until(clock.now() + kIdle);
    Request send = transport.send(std::as_bytes(std::span(&number, 1)), 0, Tag{3}, Purpose::Control);
    transport.wait(send);
    return true;
  }
  const std::clock_t used_before = std::clock();
  Request receive = transport.receive(std::as_writable_bytes(std::span(&number, 1)), 1, Tag{3});
  transport.wait(receive);
  return static_cast<double>(std::clock() - used_before) / CLOCKS_PER_SEC < kMostOfACore * kIdle.value;
}

}  // namespace

int main(int argc, char** argv) {
  const MpiEnv env(&argc, &argv);
  const MpiComm world = duplicate(MPI_COMM_WORLD);
  SystemClock clock;
  UcxSleeps sleeps;
  const auto transport = make_ucx_transport(world, {.clock = &clock}, std::vector<std::string>(kLast + 1, "the-host"), &sleeps);
  greet(*transport);
  if (world.rank() == kLast) {
    clock.sleep_until(clock.now() + Seconds{0.5});
    std::raise(SIGKILL);
  }
  const std::string said = wait_for_the_last(*transport);
  const UcxSleeps before = sleeps;
  const int right = test::throw_to_and_fro(*transport, clock, 1 - world.rank(), kThrows);
  const UcxSleeps after = sleeps;
  std::int64_t lost_there = after.lost_wakeups - before.lost_wakeups;
  const bool is_idle = is_idle_until(*transport, clock, lost_there);
  if (world.rank() == 0) {
    const std::int64_t lost = after.lost_wakeups - before.lost_wakeups + lost_there;
    std::printf("%s\nthen %d of %d messages came, %ld wake-ups were lost, %s, and a wait %s\n", said.c_str(), right, kThrows,
                static_cast<long>(lost), after.sleeps > before.sleeps ? "some slept" : "none slept", is_idle ? "is idle" : "is busy");
  }
  std::fflush(stdout);
  _exit(EXIT_SUCCESS);  // MPI can't be finalized without the last
}
