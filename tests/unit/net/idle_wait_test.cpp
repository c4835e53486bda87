#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "twinax/base/clock.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/shaped.hpp"
#include "twinax/net/transport.hpp"

#include "support/mpi_world.hpp"
#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kIdle{1};
constexpr double kMostOfACore = 0.05;
constexpr int kWaits = 2;  // the cheapest counts: what else the machine does can only add to a wait's cost

/// The calling thread keeps to the first core that it may use, until this ends: the same on ranks that are bound to none.
class OnOneCore {
 public:
  OnOneCore() {
    CPU_ZERO(&before_);
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    int core = 0;
    while (core < CPU_SETSIZE && !CPU_ISSET(core, &before_)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;
  ~OnOneCore() { EXPECT_EQ(sched_setaffinity(0, sizeof before_, &before_), 0); }

 private:
  cpu_set_t before_;
};

/// What rank 0 does while the last rank waits for it.
enum class Meanwhile { Sleeps, ComputesOnTheSameCore };

void be_late(Meanwhile how, Clock& clock) {
  const Seconds until = clock.now() + kIdle;
  if (how == Meanwhile::Sleeps) {
    clock.sleep_until(until);
  } else {
    while (clock.now() < until) {
    }
  }
}

/// The share of a core that a wait used. One shorter than was meant, of a rank that came late itself, counts as if it were that long.
double share_of_core(Seconds waited, Seconds used) {
  return used / std::max(waited, kIdle);
}

Seconds process_cpu_time() {
  return Seconds{static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
}

/// What rank 0 and the last rank call: it lasts, on the last, until rank 0 has come.
using Meet = std::function<void()>;
using MeetingBody = std::function<void(const Meet&)>;

void meet_by_message(Transport& transport) {
  std::vector<std::byte> message(8);
  const int last = transport.size() - 1;
  Request request = transport.rank() == 0 ? transport.send(message, last, Tag{1}, Purpose::Control) : transport.receive(message, 0, Tag{1});
  transport.wait(request);
}

void with_message(const MeetingBody& body) {
  body([] { meet_by_message(test::world().transport()); });
}

void with_latency(Seconds latency, const MeetingBody& body) {
  World& world = test::world();
  Profile profile;
  profile.name = "test";
  profile.rate = gbit_per_s(1);
  profile.latency = latency;
  profile.in_node_rate = gbit_per_s(1);
  profile.source = "test";
  const NicBoard board(world.share(NicBoard::size(world.size())), world.size(), 1);
  const auto shaped = make_shaped(world.transport(), world.wait_context(), {.profile = profile}, board);
  body([&] { meet_by_message(*shaped); });
}

void with_shaped_message(const MeetingBody& body) {
  with_latency(Seconds{50e-6}, body);
}

void with_long_wire(const MeetingBody& body) {
  with_latency(kIdle, body);
}

void with_direct_barrier(const MeetingBody& body) {
  using namespace collective;
  constexpr Bytes kHeap{1 << 20};
  World& world = test::world();
  NodeMemory node(world.share(NodeMemory::size(world.size(), kHeap)), world.size(), world.rank(), kHeap);
  const auto direct = make_own(world.transport(), Group::first(world.size(), world.rank()),
                               {.algorithm = "direct", .node = &node, .wait = world.wait_context()});
  body([&] { direct->barrier(); });
}

/// One kind of wait between processes.
struct IdleRow {
  std::string name;
  void (*with_meeting)(const MeetingBody&);
  Meanwhile meanwhile = Meanwhile::ComputesOnTheSameCore;
  bool is_on_its_way = false;  ///< rank 0 is late after it has come: the message takes as long
};

class IdleWait : public ::testing::TestWithParam<IdleRow> {};

TEST_P(IdleWait, CostsLittleOfACoreBetweenProcesses) {
  const IdleRow& row = GetParam();
  std::optional<OnOneCore> one_core;
  if (row.meanwhile == Meanwhile::ComputesOnTheSameCore) one_core.emplace();
  row.with_meeting([&](const Meet& meet) {
    World& world = test::world();
    double least = 0;
    for (int i = 0; i < kWaits; ++i) {
      world.sleep_barrier();
      if (world.rank() == 0) {
        if (row.is_on_its_way) meet();
        be_late(row.meanwhile, world.clock());
        if (!row.is_on_its_way) meet();
      } else if (world.rank() == world.size() - 1) {
        const Seconds used_before = process_cpu_time();
        const Seconds begin = world.clock().now();
        meet();
        const double share = share_of_core(world.clock().now() - begin, process_cpu_time() - used_before);
        least = i == 0 ? share : std::min(least, share);
      }
      world.sleep_barrier();
    }
    EXPECT_LT(least, kMostOfACore);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Waits, IdleWait,
    ::testing::Values(IdleRow{"message", &with_message, Meanwhile::Sleeps}, IdleRow{"message_beside_computing", &with_message},
                      IdleRow{"shaped_message_beside_computing", &with_shaped_message},
                      IdleRow{.name = "message_on_a_long_wire_beside_computing", .with_meeting = &with_long_wire, .is_on_its_way = true},
                      IdleRow{"direct_barrier_beside_computing", &with_direct_barrier}),
    [](const auto& which) { return which.param.name; });

class IdleThreadWait : public ::testing::TestWithParam<Meanwhile> {};

TEST_P(IdleThreadWait, CostsLittleOfACoreBetweenThreads) {
  if (test::world().rank() != 0) return;
  std::optional<OnOneCore> one_core;
  if (GetParam() == Meanwhile::ComputesOnTheSameCore) one_core.emplace();
  test::run_loopback(2, [](Transport& transport, const WaitContext& context) {
    if (transport.rank() == 0) {
      be_late(GetParam(), *context.clock);
      meet_by_message(transport);
    } else {
      const Seconds used_before = thread_cpu_time();
      const Seconds begin = context.clock->now();
      meet_by_message(transport);
      EXPECT_LT(share_of_core(context.clock->now() - begin, thread_cpu_time() - used_before), kMostOfACore);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Waits, IdleThreadWait, ::testing::Values(Meanwhile::Sleeps, Meanwhile::ComputesOnTheSameCore),
                         [](const auto& which) { return which.param == Meanwhile::Sleeps ? "message" : "message_beside_computing"; });

}  // namespace
}  // namespace twinax::net
