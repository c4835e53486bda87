#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/clock.hpp"
#include "twinax/net/transport.hpp"

#include "support/mpi_world.hpp"
#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kIdle{2};
constexpr double kMostOfACore = 0.05;

/// The last rank waits for a message that rank 0 sends after a while.
void wait_idly(Transport& transport, Clock& clock) {
  std::vector<std::byte> message(8);
  const int last = transport.size() - 1;
  if (transport.rank() == 0) {
    clock.sleep_until(clock.now() + kIdle);
    Request send = transport.send(message, last, Tag{1}, Purpose::Control);
    transport.wait(send);
  } else if (transport.rank() == last) {
    Request receive = transport.receive(message, 0, Tag{1});
    const Seconds used_before = thread_cpu_time();
    const Seconds begin = clock.now();
    transport.wait(receive);
    const Seconds waited = clock.now() - begin;
    const Seconds used = thread_cpu_time() - used_before;
    EXPECT_LT(used.value / waited.value, kMostOfACore);
  }
}

TEST(IdleWait, CostsLittleOfACoreBetweenProcesses) {
  wait_idly(test::world().transport(), test::world().clock());
}

TEST(IdleWait, CostsLittleOfACoreBetweenThreads) {
  if (test::world().rank() != 0) return;
  test::run_loopback(2, [](Transport& transport, const WaitContext& context) { wait_idly(transport, *context.clock); });
}

}  // namespace
}  // namespace twinax::net
