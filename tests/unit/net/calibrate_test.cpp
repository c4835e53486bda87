#include "twinax/net/calibrate.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/net/lanes.hpp"
#include "twinax/net/loopback.hpp"
#include "twinax/net/shaped.hpp"

#include "support/scripted_transport.hpp"
#include "support/virtual_clock.hpp"

namespace twinax::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kPoll = 40e-6;

Profile slow_network() {
  Profile profile;
  profile.name = "slow";
  profile.rate = {1e8};
  profile.latency = {2e-3};
  profile.message_overhead = {40e-6};
  profile.in_node_rate = {4e8};
  profile.in_node_latency = {1e-3};
  profile.source = "test";
  return profile;
}

CalibrationOptions quick_options() {
  return {.pings = 20,
          .longest_pings = {60},
          .burst = {40e-3},
          .repeats = 1,
          .small = {4096},
          .middle = {16 << 10},
          .large = {64 << 10},
          .poll = {kPoll}};
}

/// What calibrating says of ranks whose traffic is shaped, each a thread, in virtual time.
Profile calibrated(const Profile& profile, int ranks, int ranks_per_node, const CalibrationOptions& options) {
  test::VirtualClock clock(ranks);
  LoopbackFabric fabric(ranks);
  const std::shared_ptr<std::byte[]> board = std::make_shared<std::byte[]>(static_cast<std::size_t>(NicBoard::size(ranks).value));
  std::vector<int> node_of;
  for (int rank = 0; rank < ranks; ++rank) node_of.push_back(rank / ranks_per_node);
  const CalibrationPlan plan = plan_calibration(node_of, nullptr);
  Calibration measured;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const WaitContext context{.clock = &clock, .ending = &fabric.ending()};
      const auto bare = fabric.attach(rank, context);
      const auto shaped =
          make_shaped(*bare, context, {.profile = profile, .chunk = options.large, .seed = 11}, NicBoard(board, ranks, ranks_per_node));
      Calibration mine = calibrate(*shaped, context, plan, options);
      if (rank == plan.pair.from) measured = std::move(mine);
      clock.leave();
    });
  }
  threads.clear();
  return fit_profile(measured, options);
}

TEST(Calibrate, FindsTheFiguresOfTheProfileThatShapesTwoRanks) {
  const Profile found = calibrated(slow_network(), 2, 1, quick_options());
  EXPECT_NEAR(found.rate.value, 1e8, 0.02e8);
  EXPECT_NEAR(found.message_overhead.value, 40e-6, 2e-6);
  EXPECT_NEAR(found.latency.value, 2e-3, 2 * kPoll);
  EXPECT_NEAR(found.jitter.value, 0, kPoll);
  EXPECT_EQ(found.tail_probability, 0);
  EXPECT_EQ(found.stream_rate.value, 0);  // one flow says nothing of others
  EXPECT_EQ(found.in_node_rate, found.rate);
}

TEST(Calibrate, TellsAStreamFromANicAndANodeFromTheNetwork) {
  Profile profile = slow_network();
  profile.stream_rate = {0.6e8};
  CalibrationOptions options = quick_options();
  options.burst = {100e-3};  // long against the 10 ms that the shaper books ahead for each flow
  options.poll = {2 * kPoll};
  const Profile found = calibrated(profile, 4, 2, options);
  EXPECT_NEAR(found.rate.value, 1e8, 0.03e8);
  EXPECT_NEAR(found.stream_rate.value, 0.6e8, 0.02e8);
  EXPECT_NEAR(found.message_overhead.value, 40e-6, 3e-6);
  EXPECT_NEAR(found.in_node_rate.value, 4e8, 0.1e8);
  EXPECT_NEAR(found.in_node_latency.value, 1e-3, 4 * kPoll);
}

TEST(Calibrate, FindsJitterAndTail) {
  Profile profile = slow_network();
  profile.jitter = {400e-6};
  profile.tail_probability = 0.02;
  profile.tail = {30e-3};
  CalibrationOptions options = quick_options();
  options.pings = 300;
  options.repeats = 3;
  const Profile found = calibrated(profile, 2, 1, options);
  EXPECT_NEAR(found.jitter.value, 400e-6, 130e-6);  // 4 standard errors of the quantiles of 300 round trips
  EXPECT_NEAR(found.latency.value, 2e-3, 250e-6);
  EXPECT_NEAR(found.tail_probability, 0.02, 0.02);
  EXPECT_NEAR(found.tail.value, 30e-3, 2e-3);
}

TEST(Calibrate, TellsAGapFromAnOverheadThatDelaysBytes) {
  Profile profile = slow_network();
  profile.message_gap = {150e-6};  // longer than the 41 us of 4 KiB and the overhead, shorter than the 164 us of 16 KiB
  profile.message_overhead = {20e-6};
  const Profile found = calibrated(profile, 2, 1, quick_options());
  EXPECT_NEAR(found.rate.value, 1e8, 0.02e8);
  EXPECT_NEAR(found.message_gap.value, 150e-6, 5e-6);
  EXPECT_NEAR(found.message_overhead.value, 20e-6, 4e-6);
  EXPECT_EQ(calibrated(slow_network(), 2, 1, quick_options()).message_gap.value, 0);
}

TEST(FitProfile, TakesMessagesThatAllLastAsLongAsSmallOnesForGapAlone) {
  const Calibration measured{
      .pair = {.round_trips_s = {20e-6}}, .small_of_all = {10e-6}, .middle_of_all = {10.5e-6}, .large_of_all = {20e-6}};
  const Profile found = fit_profile(measured, {.small = {8}, .middle = {50'000}, .large = {200'000}});
  EXPECT_NEAR(found.message_gap.value, 10e-6, 1e-12);
  EXPECT_EQ(found.message_overhead.value, 0);
  EXPECT_NEAR(found.rate.value, 1e10, 1);
}

TEST(Calibrate, FitsDrawsOfTheModelItself) {
  Calibration measured{.small_of_all = {3e-6}, .middle_of_all = {3e-6 + 0.25e-3}, .large_of_all = {3e-6 + 1e-3}};
  const Philox random(5, Draw::Test);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    double time = 2 * (40e-6 + 3e-6);
    for (const std::uint64_t message : {2 * i, 2 * i + 1}) {
      time += 10e-6 * -std::log1p(-random.uniform(2 * message));
      if (random.uniform(2 * message + 1) < 0.001) time += 500e-6;
    }
    measured.pair.round_trips_s.push_back(time);
  }
  std::ranges::sort(measured.pair.round_trips_s);
  const CalibrationOptions options{.small = {0}, .middle = {250'000}, .large = {1'000'000}};
  const Profile found = fit_profile(measured, options);
  EXPECT_NEAR(found.rate.value, 1e9, 1);
  EXPECT_NEAR(found.message_overhead.value, 3e-6, 1e-12);
  EXPECT_NEAR(found.jitter.value, 10e-6, 0.1e-6);
  EXPECT_NEAR(found.latency.value, 40e-6, 0.2e-6);
  EXPECT_NEAR(found.tail_probability, 0.001, 0.0003);
  EXPECT_NEAR(found.tail.value, 500e-6, 10e-6);
}

TEST(Calibrate, MeasuresFromOneNodeToTheOthers) {
  const std::vector<int> node_of{0, 0, 1, 1, 1};
  const CalibrationPlan plan = plan_calibration(node_of, nullptr);
  EXPECT_EQ(plan.pair, (CalibrationFlow{0, 2}));
  EXPECT_THAT(plan.flows, ElementsAre(CalibrationFlow{0, 2}, CalibrationFlow{1, 3}, CalibrationFlow{0, 4}));
  EXPECT_THAT(plan.in_node, ElementsAre(CalibrationFlow{0, 1}));
  const CalibrationFlow given{4, 1};
  const CalibrationPlan other = plan_calibration(node_of, &given);
  EXPECT_EQ(other.pair, given);
  EXPECT_THAT(other.flows, ElementsAre(CalibrationFlow{4, 1}, CalibrationFlow{2, 0}, CalibrationFlow{3, 1}));
  EXPECT_THAT(other.in_node, ElementsAre(CalibrationFlow{4, 2}));
  EXPECT_FALSE(plan_calibration(std::vector<int>{0, 1, 1}, nullptr).in_node.size() > 0);
}

TEST(Calibrate, RefusesOrdersThatNoLeaderGives) {
  constexpr Tag kOrderTag = lanes::tag(lanes::kCalibration, 0), kReadyTag = lanes::tag(lanes::kCalibration, 1);
  constexpr std::uint64_t kEnd = 0, kPing = 1, kBurst = 2;
  const CalibrationOptions options = quick_options();  // sizes are 4096, 16384 and 65536
  const CalibrationPlan plan = plan_calibration(std::vector<int>{0, 1}, nullptr);
  const auto follow = [&](const std::array<std::uint64_t, 4>& order) {  // task, flows, count, bytes
    test::VirtualClock clock(1);
    test::ScriptedTransport transport(1, 2);
    const auto bytes = std::as_bytes(std::span(order));
    transport.deliver(0, kOrderTag, {bytes.begin(), bytes.end()});
    static_cast<void>(calibrate(transport, {.clock = &clock}, plan, options));
    EXPECT_EQ(transport.sent(kReadyTag).size(), 1U);
  };
  follow({kEnd, 0, 0, 0});
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;
  const std::array<std::array<std::uint64_t, 4>, 12> wrong{{{3, 0, 1, 4096},
                                                            {kHuge, 0, 1, 4096},
                                                            {kPing, 3, 1, 4096},
                                                            {kBurst, kHuge, 1, 4096},
                                                            {kPing, 2, 1, 4096},  // nobody shares a node
                                                            {kBurst, 2, 1, 4096},
                                                            {kPing, 0, 1, 65536},
                                                            {kBurst, 0, 1, 65537},
                                                            {kBurst, 0, 1, kHuge},
                                                            {kPing, 0, 251, 4096},
                                                            {kBurst, 1, 3 * 32768 + 1, 4096},
                                                            {kBurst, 0, kHuge, 0}}};
  for (const auto& order : wrong) {
    EXPECT_THAT([&] { follow(order); }, ThrowsMessage<ProtocolError>(HasSubstr("calibrating: rank 0 orders task")))
        << ::testing::PrintToString(order);
  }
}

TEST(Calibrate, RefusesRanksBetweenWhichThereIsNoWire) {
  const std::vector<int> node_of{0, 1};
  const auto between = [&](int from, int to) {
    return [&node_of, from, to] {
      const CalibrationFlow given{from, to};
      static_cast<void>(plan_calibration(node_of, &given));
    };
  };
  EXPECT_THAT(between(1, 1), ThrowsMessage<InvalidArgument>(HasSubstr("between ranks 1 and 1")));
  EXPECT_THAT(between(0, 2), ThrowsMessage<InvalidArgument>(HasSubstr("they must be two of ranks 0 to 1")));
  EXPECT_THAT([] { static_cast<void>(plan_calibration(std::vector<int>{0}, nullptr)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at least 2 ranks")));
}

}  // namespace
}  // namespace twinax::net
