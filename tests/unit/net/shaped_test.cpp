#include "twinax/net/shaped.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/net/loopback.hpp"

#include "support/fake_clock.hpp"

namespace twinax::net {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kChunk = 1000;

Profile simple_profile() {
  Profile profile;
  profile.name = "simple";
  profile.rate = {1e6};  // 1 byte a microsecond
  profile.latency = {50e-6};
  profile.in_node_rate = {1e7};
  profile.in_node_latency = {5e-6};
  profile.source = "test";
  return profile;
}

/// Several ranks in one thread, on a clock that only moves when it is told: every time is exact.
class Net {
 public:
  Net(int ranks, int ranks_per_node, const Profile& profile) : fabric_(ranks) {
    const auto bytes = static_cast<std::size_t>(NicBoard::size(ranks).value);
    const std::shared_ptr<std::byte[]> memory = std::make_shared<std::byte[]>(bytes);
    for (int r = 0; r < ranks; ++r) {
      const WaitContext context{.clock = &clock};
      inner_.push_back(fabric_.attach(r, context));
      shaped_.push_back(make_shaped(*inner_.back(), context, {.profile = profile, .chunk = {kChunk}, .seed = 3},
                                    NicBoard(memory, ranks, ranks_per_node)));
    }
  }
  Transport& operator[](int rank) { return *shaped_[static_cast<std::size_t>(rank)]; }

  /// Moves the time on in small steps until all requests are done; when each was, from the beginning.
  std::vector<double> run(std::vector<Request*> requests, double step_s = 1e-6) {
    const Seconds begin = clock.now();
    std::vector<double> done(requests.size(), -1);
    for (int i = 0; i < 2'000'000 && std::ranges::count(done, -1) > 0; ++i) {
      for (const auto& transport : shaped_) transport->progress();
      for (std::size_t r = 0; r < requests.size(); ++r) {
        if (done[r] < 0 && requests[r]->is_done()) done[r] = (clock.now() - begin).value;
      }
      clock.advance({step_s});
    }
    return done;
  }

  test::FakeClock clock;

 private:
  LoopbackFabric fabric_;
  std::vector<std::unique_ptr<Transport>> inner_, shaped_;
};

std::vector<std::byte> bytes(std::size_t n, int seed = 0) {
  std::vector<std::byte> data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) & 0xff);
  return data;
}

constexpr double kStep = 2e-6;  // of the test's clock, and rounding

TEST(Shaped, TakesBytesOverRatePlusLatencyForAMessage) {
  Net net(2, 1, simple_profile());
  const auto data = bytes(5000);
  std::vector<std::byte> got(5000);
  Request receive = net[1].receive(got, 0, Tag{1});
  Request send = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
  const auto done = net.run({&receive, &send});
  EXPECT_NEAR(done[0], 5000e-6 + 50e-6, kStep);  // cut-through: the receiver's NIC adds nothing
  EXPECT_NEAR(done[1], 5000e-6, kStep);
  EXPECT_EQ(got, data);
}

TEST(Shaped, HoldsTheNextMessageForTheGapDuringWhichBytesPass) {
  Profile profile = simple_profile();
  profile.message_gap = {300e-6};
  profile.message_overhead = {20e-6};
  Net net(2, 1, profile);
  const std::array sizes{10U, 10U, 1000U, 10U};
  std::vector<std::vector<std::byte>> data, got;
  for (const std::size_t size : sizes) {
    data.push_back(bytes(size));
    got.emplace_back(size);
  }
  std::vector<Request> receives, sends;
  std::vector<Request*> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) receives.push_back(net[1].receive(got[i], 0, Tag{1}));
  for (std::size_t i = 0; i < sizes.size(); ++i) sends.push_back(net[0].send(data[i], 1, Tag{1}, Purpose::Gradients));
  for (Request& receive : receives) all.push_back(&receive);
  const auto done = net.run(all);
  EXPECT_NEAR(done[0], 30e-6 + 50e-6, kStep);  // nothing was before it
  EXPECT_NEAR(done[1], 330e-6 + 50e-6, kStep);
  EXPECT_NEAR(done[2], 600e-6 + 1020e-6 + 50e-6, kStep);
  EXPECT_NEAR(done[3], 1620e-6 + 30e-6 + 50e-6, kStep);  // 1000 bytes took longer than the gap
}

TEST(Shaped, GivesAMessageAfterAPauseNoCredit) {
  Net net(2, 1, simple_profile());
  const auto data = bytes(3000);
  std::vector<std::byte> got(3000);
  for (int round = 0; round < 3; ++round) {
    net.clock.advance({1});
    Request receive = net[1].receive(got, 0, Tag{1});
    Request send = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
    EXPECT_NEAR(net.run({&receive, &send})[0], 3050e-6, kStep);
  }
}

TEST(Shaped, LosesNoRateToALateLook) {
  Net net(2, 1, simple_profile());
  const auto data = bytes(20 * kChunk);
  std::vector<std::byte> got(data.size());
  Request receive = net[1].receive(got, 0, Tag{1});
  Request send = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
  // Each rank looks only every 4 ms, as a thread beside a computing one may; 20 chunks take 20 ms.
  EXPECT_NEAR(net.run({&receive, &send}, 4e-3)[0], 24e-3, 4e-3 + kStep);
}

TEST(Shaped, SharesOneNicAmongTheRanksOfANode) {
  Net net(3, 2, simple_profile());  // ranks 0 and 1 on one node, 2 on another
  const auto data = bytes(4000);
  std::vector<std::byte> a(4000), b(4000);
  Request from_0 = net[2].receive(a, 0, Tag{1});
  Request from_1 = net[2].receive(b, 1, Tag{1});
  Request send_0 = net[0].send(data, 2, Tag{1}, Purpose::Gradients);
  Request send_1 = net[1].send(data, 2, Tag{1}, Purpose::Gradients);
  const auto done = net.run({&from_0, &from_1, &send_0, &send_1});
  EXPECT_NEAR(std::max(done[0], done[1]), 8050e-6, kStep);
}

TEST(Shaped, LimitsIncastByTheReceiversNic) {
  Net net(4, 1, simple_profile());
  const auto data = bytes(6000);
  std::vector<std::vector<std::byte>> got(3, std::vector<std::byte>(6000));
  std::vector<Request> requests;
  for (int from = 1; from < 4; ++from) requests.push_back(net[0].receive(got[static_cast<std::size_t>(from - 1)], from, Tag{1}));
  for (int from = 1; from < 4; ++from) requests.push_back(net[from].send(data, 0, Tag{1}, Purpose::Gradients));
  std::vector<Request*> all;
  for (Request& request : requests) all.push_back(&request);
  const auto done = net.run(all);
  EXPECT_NEAR(*std::max_element(done.begin(), done.begin() + 3), 18050e-6, kStep);
  EXPECT_NEAR(*std::max_element(done.begin() + 3, done.end()), 6000e-6, kStep);  // the senders' NICs were not the limit
}

TEST(Shaped, MovesInNodeBytesAtTheInNodeRate) {
  Net net(2, 2, simple_profile());
  const auto data = bytes(5000);
  std::vector<std::byte> got(5000);
  Request receive = net[1].receive(got, 0, Tag{1});
  Request send = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
  EXPECT_NEAR(net.run({&receive, &send})[0], 500e-6 + 5e-6, kStep);
}

TEST(Shaped, LimitsAPairToItsStream) {
  Profile profile = simple_profile();
  profile.stream_rate = {2.5e5};
  Net net(3, 1, profile);
  const auto data = bytes(4000);
  std::vector<std::byte> a(4000), b(4000);
  Request one = net[1].receive(a, 0, Tag{1});
  Request other = net[2].receive(b, 0, Tag{1});
  Request send_one = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
  Request send_other = net[0].send(data, 2, Tag{1}, Purpose::Gradients);
  const auto done = net.run({&one, &other, &send_one, &send_other});
  EXPECT_NEAR(done[0], 16050e-6, kStep);
  EXPECT_NEAR(done[1], 16050e-6, kStep);  // two streams beside each other: the NIC could carry four
}

TEST(Shaped, LetsFlowsTakeTurnsChunkByChunk) {
  Net net(3, 1, simple_profile());
  const auto large = bytes(100 * kChunk);  // 100 ms alone
  const auto small = bytes(2 * kChunk);
  std::vector<std::byte> got_large(large.size()), got_small(small.size());
  Request a = net[1].receive(got_large, 0, Tag{1});
  Request b = net[2].receive(got_small, 0, Tag{1});
  Request send_a = net[0].send(large, 1, Tag{1}, Purpose::Gradients);
  Request send_b = net[0].send(small, 2, Tag{1}, Purpose::Gradients);
  const auto done = net.run({&a, &b, &send_a, &send_b}, 10e-6);
  EXPECT_LT(done[1], 20e-3);  // behind what was booked ahead (10 ms), not behind all of the large message
  EXPECT_NEAR(done[0], 102050e-6, 1e-3);
}

TEST(Shaped, KeepsMessagesOfOneTagInOrderWhateverTheirSize) {
  Net net(2, 1, simple_profile());
  const std::vector<std::size_t> sizes{30 * kChunk + 1, 0, 1, kChunk, kChunk + 1};
  std::vector<std::vector<std::byte>> sent, got;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sent.push_back(bytes(sizes[i], static_cast<int>(i)));
    got.emplace_back(sizes[i]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(net[0].send(sent[i], 1, Tag{1}, Purpose::Gradients));
  for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(net[1].receive(got[i], 0, Tag{1}));
  std::vector<Request*> all;
  for (Request& request : requests) all.push_back(&request);
  net.run(all, 20e-6);
  EXPECT_EQ(got, sent);
}

TEST(Shaped, AddsJitterAboutAsLongAsTheProfileSaysAndTheSameEachTime) {
  Profile profile = simple_profile();
  profile.jitter = {100e-6};
  std::vector<double> first;
  for (int run = 0; run < 2; ++run) {
    Net net(2, 1, profile);
    std::vector<double> delays;
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> got(10);
      const auto data = bytes(10);
      Request receive = net[1].receive(got, 0, Tag{1});
      Request send = net[0].send(data, 1, Tag{1}, Purpose::Gradients);
      delays.push_back(net.run({&receive, &send})[0] - 60e-6);
    }
    if (run == 0) first = delays;
    EXPECT_EQ(delays, first);
  }
  EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0.0) / 200, 100e-6, 25e-6);  // mean of an exponential: 3.5 standard errors
}

/// The k-th message from one rank to another is late by draws 2 k and 2 k + 1 of the stream of that pair, whatever else is sent.
TEST(Shaped, DelaysEachMessageByTheDrawsOfItsSeedItsRanksAndItsNumber) {
  Profile profile = simple_profile();
  profile.jitter = {100e-6};
  profile.tail_probability = 0.2;
  profile.tail = {3e-3};
  Net net(3, 1, profile);
  const auto data = bytes(10);
  int late = 0;
  for (std::uint64_t k = 0; k < 40; ++k) {
    for (const auto& [from, to] : {std::pair{0, 1}, std::pair{2, 1}, std::pair{1, 0}}) {
      const Philox random(3, Draw::Jitter, static_cast<std::uint32_t>(from * 3 + to));  // 3: the seed of Net; 3 ranks
      const bool is_late = random.uniform(2 * k + 1) < 0.2;
      const double jitter = 100e-6 * -std::log(1 - random.uniform(2 * k));
      std::vector<std::byte> got(10);
      Request receive = net[to].receive(got, from, Tag{1});
      Request send = net[from].send(data, to, Tag{1}, Purpose::Gradients);
      EXPECT_NEAR(net.run({&receive, &send})[0], 60e-6 + jitter + (is_late ? 3e-3 : 0), kStep) << "message " << k;
      late += is_late ? 1 : 0;
    }
  }
  EXPECT_NEAR(late, 24, 18);  // of 120: 4 standard deviations
}

TEST(Shaped, RefusesARateThatCanNotBeCarriedWithTheDilationThatWouldDo) {
  Profile profile = simple_profile();
  profile.rate = gbit_per_s(25);
  EXPECT_THAT([&] { check_carried(profile, 2, false); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("set net.dilation to 5 or more")));
  EXPECT_NO_THROW(check_carried(profile.dilated(2.5), 5, false));
  profile.rate = gbit_per_s(1);
  profile.in_node_rate = gbit_per_s(100);
  EXPECT_NO_THROW(check_carried(profile, 1, false));
  EXPECT_THAT([&] { check_carried(profile, 1, true); }, ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("inside a node")));
}

}  // namespace
}  // namespace twinax::net
