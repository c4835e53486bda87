// How exactly the shaper keeps a network's figures while both ranks compute: mpirun -n 2 shaper_bench [--quick]
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "twinax/net/bootstrap.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/net/shaped.hpp"

namespace {

using namespace twinax;

constexpr Seconds kLatency{50e-6};
constexpr std::size_t kMessage = 1'000'000;

/// How much is measured.
struct Amount {
  int rounds = 6;
  double round_s = 1;
  int messages = 20;  ///< one at a time
};
constexpr Amount kQuick{.rounds = 1, .round_s = 0.1, .messages = 1};

net::Profile profile_of(double gbit) {
  net::Profile profile;
  profile.name = "bench";
  profile.rate = gbit_per_s(gbit);
  profile.latency = kLatency;
  profile.in_node_rate = gbit_per_s(gbit);
  profile.source = "bench";
  return profile;
}

/// A thread that computes for as long as it lives.
class Busy {
 public:
  Busy()
      : thread_([this](const std::stop_token& stop) {
          double x = 1;
          while (!stop.stop_requested()) {
            for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
            sink_.store(x, std::memory_order_relaxed);
          }
        }) {}

 private:
  std::atomic<double> sink_{0};
  std::jthread thread_;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Messages one at a time, each after a second of idleness: how much later than bytes / rate + latency each is.
std::vector<double> lateness_of_single_messages(net::World& world, net::Transport& transport, double gbit, int repeats) {
  const std::vector<std::byte> data(kMessage / 2);
  std::vector<std::byte> got(kMessage / 2);
  const Seconds expected = Bytes{static_cast<std::int64_t>(data.size())} / gbit_per_s(gbit) + kLatency;
  std::vector<double> late;
  for (int r = 0; r < repeats; ++r) {
    double posted_s = 0;  // by the host's clock, which both ranks read
    if (world.rank() == 1) {
      net::Request stamp = world.transport().receive(std::as_writable_bytes(std::span(&posted_s, 1)), 0, net::Tag{9});
      net::Request receive = transport.receive(got, 0, net::Tag{1});
      transport.wait(receive);
      const Seconds here = world.clock().now();
      world.transport().wait(stamp);
      late.push_back((here - Seconds{posted_s} - expected).value);
    } else {
      world.clock().sleep_until(world.clock().now() + Seconds{1});
      posted_s = world.clock().now().value;
      net::Request stamp = world.transport().send(std::as_bytes(std::span(&posted_s, 1)), 1, net::Tag{9}, net::Purpose::Control);
      net::Request send = transport.send(data, 1, net::Tag{1}, net::Purpose::Control);
      transport.wait(send);
      world.transport().wait(stamp);
    }
  }
  return late;
}

/// Several messages in flight: the rate reached over the rate asked for, minus 1.
double rate_error(net::World& world, net::Transport& transport, double gbit, double seconds) {
  constexpr std::size_t kInFlight = 8;
  const auto messages = static_cast<std::size_t>(seconds * gbit_per_s(gbit).value / kMessage);
  const std::vector<std::byte> data(kMessage);
  std::vector<std::vector<std::byte>> got(kInFlight, std::vector<std::byte>(kMessage));
  world.sleep_barrier();
  const Seconds begin = world.clock().now();
  std::deque<net::Request> flights;
  for (std::size_t m = 0; m < messages; ++m) {
    if (flights.size() == kInFlight) {
      transport.wait(flights.front());
      flights.pop_front();
    }
    flights.push_back(world.rank() == 0 ? transport.send(data, 1, net::Tag{2}, net::Purpose::Control)
                                        : transport.receive(got[m % kInFlight], 0, net::Tag{2}));
  }
  for (net::Request& request : flights) transport.wait(request);
  const Seconds took = world.clock().now() - begin - kLatency;
  return Bytes{static_cast<std::int64_t>(messages * kMessage)} / took / gbit_per_s(gbit) - 1;
}

int bench(net::World& world, const Amount& amount) {
  if (world.size() != 2) throw std::runtime_error("shaper_bench needs 2 ranks: mpirun -n 2 shaper_bench");
  const Busy busy;
  const bool prints = world.rank() == 1;
  for (const double gbit : {1.0, 2.0, 4.0, 10.0}) {
    const auto memory = world.share(net::NicBoard::size(2));
    const auto shaped =
        net::make_shaped(world.transport(), world.wait_context(), {.profile = profile_of(gbit)}, net::NicBoard(memory, 2, 1));
    std::vector<double> errors;
    for (int r = 0; r < amount.rounds; ++r) errors.push_back(rate_error(world, *shaped, gbit, amount.round_s));
    std::vector<double> late;
    if (gbit == 1.0) late = lateness_of_single_messages(world, *shaped, gbit, amount.messages);
    world.sleep_barrier();
    if (!prints) continue;
    const auto [low, high] = std::ranges::minmax(errors);
    fmt::print("{:>4.0f} Gbit/s sustained, both ranks computing: rate error {:+.2f}% [{:+.2f}%, {:+.2f}%] (median of {} x {} s, range)\n",
               gbit, 100 * median(errors), 100 * low, 100 * high, amount.rounds, amount.round_s);
    if (late.empty()) continue;
    const auto [first, last] = std::ranges::minmax(late);
    fmt::print("{:>4.0f} Gbit/s, 0.5 MB after 1 s of idleness: {:+.0f} us late [{:+.0f}, {:+.0f}] of {:.0f} us (median of {}, range)\n",
               gbit, 1e6 * median(late), 1e6 * first, 1e6 * last, 1e6 * (kMessage / 2 / gbit_per_s(gbit).value + kLatency.value),
               amount.messages);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  net::WorldOptions options;
  options.argc = &argc;
  options.argv = &argv;
  return net::run_world(options, [is_quick](net::World& world) { return bench(world, is_quick ? kQuick : Amount{}); });
}
