#include "app/bench_figures.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace twinax::app {
namespace {

using enum BenchCollective;

net::Profile network() {
  net::Profile profile;
  profile.name = "a network";
  profile.rate = {1000};
  profile.achievable = 0.5;
  profile.latency = {2};
  profile.in_node_rate = {10000};
  profile.in_node_latency = {0.25};
  return profile;
}

TEST(BusFactor, IsWhatEachMemberMustSendOfTheWhole) {
  for (const int n : {2, 3, 8}) {
    EXPECT_DOUBLE_EQ(bus_factor(AllGather, n), (n - 1.0) / n);
    EXPECT_DOUBLE_EQ(bus_factor(ReduceScatter, n), (n - 1.0) / n);
    EXPECT_DOUBLE_EQ(bus_factor(AllReduce, n), 2 * (n - 1.0) / n);
    EXPECT_DOUBLE_EQ(bus_factor(Broadcast, n), 1);
    EXPECT_DOUBLE_EQ(bus_factor(Barrier, n), 0);
  }
}

TEST(BusFactor, IsOfNodesWhereThereAreSeveralAndElseOfRanks) {
  EXPECT_EQ(bus_members({.ranks = 4, .ranks_per_node = 1}), 4);
  EXPECT_EQ(bus_members({.ranks = 4, .ranks_per_node = 2}), 2);
  EXPECT_EQ(bus_members({.ranks = 5, .ranks_per_node = 2}), 3) << "the last node has one";
  EXPECT_EQ(bus_members({.ranks = 4, .ranks_per_node = 4}), 4);
  EXPECT_EQ(bus_members({.ranks = 1, .ranks_per_node = 1}), 1);
}

TEST(BusFactor, NamesEachCollectiveOnce) {
  std::set<std::string_view> names;
  for (const BenchCollective collective : bench_collectives()) names.insert(name_of(collective));
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("all_gather", "reduce_scatter", "all_reduce", "broadcast", "barrier"));
}

TEST(EqualHosts, AreCountedWhereEachHasAsManyRanks) {
  using Hosts = std::vector<std::string>;
  EXPECT_EQ(equal_hosts(Hosts{"a"}), 1);
  EXPECT_EQ(equal_hosts(Hosts{"a", "a", "a"}), 1);
  EXPECT_EQ(equal_hosts(Hosts{"a", "b", "b", "a"}), 2);
  EXPECT_EQ(equal_hosts(Hosts{"a", "b", "c"}), 3);
  EXPECT_EQ(equal_hosts(Hosts{"a", "b", "b"}), 0);
}

TEST(LeastTime, IsWhatPassesANodesNicAndOneLatency) {
  // 4 nodes of one rank: 3/4 of 4000 bytes at 500 bytes/s, then 2 s.
  EXPECT_DOUBLE_EQ(least_time(AllGather, {4000}, {4, 1}, network()).value, 6 + 2);
  EXPECT_DOUBLE_EQ(least_time(ReduceScatter, {4000}, {4, 1}, network()).value, 6 + 2);
  EXPECT_DOUBLE_EQ(least_time(AllReduce, {4000}, {4, 1}, network()).value, 12 + 2);
  EXPECT_DOUBLE_EQ(least_time(Broadcast, {4000}, {4, 1}, network()).value, 8 + 2);
  EXPECT_DOUBLE_EQ(least_time(Barrier, {0}, {4, 1}, network()).value, 2);
  EXPECT_EQ(least_time(AllReduce, {4000}, {1, 1}, network()), Seconds{0});
}

TEST(LeastTime, CountsNodesNotRanks) {
  // 2 nodes of two ranks: half of the whole must enter each node; no algorithm needs more.
  EXPECT_DOUBLE_EQ(least_time(AllGather, {4000}, {4, 2}, network()).value, 4 + 2);
  // All in one node: its own links.
  EXPECT_DOUBLE_EQ(least_time(AllGather, {4000}, {4, 4}, network()).value, 0.3 + 0.25);
}

TEST(LeastTime, HeedsTheRateOfOneStream) {
  net::Profile slow = network();
  slow.stream_rate = {100};
  EXPECT_DOUBLE_EQ(least_time(AllGather, {2000}, {2, 1}, slow).value, 10 + 2);
  // 3 foreign ranks bring 3 streams.
  EXPECT_DOUBLE_EQ(least_time(AllGather, {4000}, {4, 1}, slow).value, 10 + 2);
  EXPECT_EQ(best_rate(false, slow), BytesPerSecond{100});
  EXPECT_EQ(best_rate(true, slow), BytesPerSecond{10000});
}

TEST(LeastTime, OfAMessageIsLatencyAndBytes) {
  EXPECT_DOUBLE_EQ(least_latency({1000}, false, network()).value, 2 + 2);
  EXPECT_DOUBLE_EQ(least_latency({1000}, true, network()).value, 0.1 + 0.25);
}

TEST(LeastTime, OfAnIncastIsTheReceiversNic) {
  EXPECT_DOUBLE_EQ(least_incast_time({1000}, {4, 1}, network()).value, 6);
  // One sender in the node, two outside: both links at once.
  EXPECT_DOUBLE_EQ(least_incast_time({1000}, {4, 2}, network()).value, 4);
  EXPECT_DOUBLE_EQ(least_incast_time({1000}, {4, 4}, network()).value, 0.3);
}

TEST(BenchPlan, RepeatsWhatIsShortAndMeasuresLessOftenWhatIsLong) {
  EXPECT_EQ(plan_of({3e-6}, 0).repeats, 67);
  EXPECT_EQ(plan_of({1e-6}, 0).iterations, 30);
  EXPECT_EQ(plan_of({1e-3}, 0).repeats, 1);
  EXPECT_EQ(plan_of({0.3}, 0).iterations, 10);
  EXPECT_EQ(plan_of({100}, 0).iterations, 5);
  EXPECT_EQ(plan_of({100}, 7).iterations, 7);
  EXPECT_EQ(plan_of({0}, 0).repeats, 1000);
}

TEST(BenchPlan, WarmsUpForASecondAtMost) {
  EXPECT_EQ(warmup_of({1e-6}, 5), 5);
  EXPECT_EQ(warmup_of({0.3}, 5), 3);
  EXPECT_EQ(warmup_of({10}, 5), 1);
  EXPECT_EQ(warmup_of({0}, 5), 5);
}

TEST(BenchPlan, HasFewerLargeMessagesInFlight) {
  EXPECT_EQ(window_of({1}, 64, {0}), 64);
  EXPECT_EQ(window_of(mib(4), 64, {0}), 16);
  EXPECT_EQ(window_of(mib(100), 64, {0}), 1);
  EXPECT_EQ(window_of({1000}, 64, {40000}), 10) << "a quarter of a second";
  EXPECT_EQ(window_of({1000}, 64, {1}), 1);
}

TEST(CountWrong, FindsEveryElementThatDiffers) {
  std::vector<float> found(1000);
  const auto expected = [](std::size_t i) { return summed_element(3, i, Dtype::Fp32); };
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = given_element(0, i) + given_element(1, i) + given_element(2, i);
  EXPECT_EQ(count_wrong(found, expected), 0);
  found[0] += 1;
  found[500] = -found[500] - 1;
  found[999] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(count_wrong(found, expected), 3);
}

TEST(CountWrong, FindsBytesThatWereChangedSwappedOrNeverSent) {
  std::vector<std::byte> found(4096);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = given_byte(2, i);
  EXPECT_EQ(count_wrong(found, 2, 0), 0);
  found[17] ^= std::byte{1};
  EXPECT_EQ(count_wrong(found, 2, 0), 1);
  EXPECT_GT(count_wrong(found, 1, 0), 3900) << "another rank's message is not taken for this one";
  EXPECT_GT(count_wrong(found, 2, 1), 3900) << "nor one that is shifted";
}

TEST(GivenElement, IsAWholeNumberThatNoWireRounds) {
  std::set<float> values;
  for (std::size_t i = 0; i < 5000; ++i) {
    for (int member = 0; member < 3; ++member) {
      const float value = given_element(member, i);
      EXPECT_EQ(from_bf16(to_bf16(value)), value);
      EXPECT_EQ(value, std::round(value));
      values.insert(value);
    }
  }
  EXPECT_EQ(*values.begin(), -6);
  EXPECT_EQ(*values.rbegin(), 6);
  EXPECT_EQ(values.size(), 13U);
}

TEST(GivenElement, HasASumThatIsRoundedOnceWhereTheWireRounds) {
  bool is_rounded = false;
  for (std::size_t i = 0; i < 200; ++i) {
    float sum = 0;
    for (int member = 0; member < 3000; ++member) sum += given_element(member, i);
    EXPECT_EQ(summed_element(3000, i, Dtype::Fp32), sum);
    EXPECT_EQ(summed_element(3000, i, Dtype::Bf16), from_bf16(to_bf16(sum)));
    is_rounded = is_rounded || from_bf16(to_bf16(sum)) != sum;
  }
  EXPECT_TRUE(is_rounded) << "3000 members have sums over 256";
}

TEST(PairRounds, HoldEveryPairOnceAndNoRankTwiceInARound) {
  for (const int ranks : {2, 3, 4, 5, 8, 13}) {
    std::set<std::pair<int, int>> seen;
    const auto rounds = pair_rounds(ranks);
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(ranks % 2 == 0 ? ranks - 1 : ranks)) << ranks;
    for (const auto& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_GE(a, 0);
        EXPECT_LT(b, ranks);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << ranks;
        EXPECT_TRUE(seen.emplace(a, b).second) << ranks;
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2)) << ranks;
  }
}

TEST(SetTimes, TakesTheMedianItsIntervalAndTheRates) {
  record::BenchRow row{.bytes = 3000};
  set_times(row, std::vector{5.0, 1.0, 3.0, 2.0, 4.0}, 0.5);
  EXPECT_EQ(row.seconds, 3);
  EXPECT_EQ(row.seconds_low, 1);
  EXPECT_EQ(row.seconds_high, 5);
  EXPECT_EQ(row.iterations, 5);
  EXPECT_EQ(row.bytes_per_second, 1000);
  EXPECT_EQ(row.bus_bytes_per_second, 500);
}

TEST(ShownTimes, AreOfTheEmulatedNetwork) {
  record::BenchRow row{.bytes = 4'000'000'000, .bound_seconds = 1};
  set_times(row, std::vector{2.0}, 0.5);
  const ShownTimes plain = shown_times(row, 1);
  EXPECT_DOUBLE_EQ(plain.time_us, 2e6);
  EXPECT_DOUBLE_EQ(plain.rate_gb_per_s, 2);
  EXPECT_DOUBLE_EQ(plain.bus_gb_per_s, 1);
  EXPECT_DOUBLE_EQ(plain.share_percent, 50);
  const ShownTimes emulated = shown_times(row, 20);
  EXPECT_DOUBLE_EQ(emulated.time_us, 1e5);
  EXPECT_DOUBLE_EQ(emulated.rate_gb_per_s, 40);
  EXPECT_DOUBLE_EQ(emulated.share_percent, 50) << "the bound is as slow as the run";
  row.bound_seconds = record::kUnknown;
  EXPECT_TRUE(std::isnan(shown_times(row, 1).share_percent));
}

}  // namespace
}  // namespace twinax::app
