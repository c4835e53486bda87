#include "app/bench_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "app/interval.hpp"

namespace twinax::app {
namespace {

constexpr std::array kCollectives{BenchCollective::AllGather, BenchCollective::ReduceScatter, BenchCollective::AllReduce,
                                  BenchCollective::Broadcast, BenchCollective::Barrier};
constexpr std::array<std::string_view, kCollectives.size()> kNames{"all_gather", "reduce_scatter", "all_reduce", "broadcast", "barrier"};

constexpr std::uint32_t mixed(std::uint32_t a, std::uint32_t b) {
  std::uint32_t x = a * 0x9E3779B1U + b * 0x85EBCA77U;
  x ^= x >> 15;
  x *= 0x2C1B3C6DU;
  return x ^ (x >> 13);
}

BytesPerSecond least_of(BytesPerSecond rate, BytesPerSecond stream, int streams) {
  return stream.value > 0 ? std::min(rate, stream * streams) : rate;
}

}  // namespace

std::string_view name_of(BenchCollective collective) {
  return kNames[static_cast<std::size_t>(collective)];
}

std::span<const BenchCollective> bench_collectives() {
  return kCollectives;
}

double bus_factor(BenchCollective collective, int members) {
  const double n = members;
  switch (collective) {
    case BenchCollective::AllGather:
    case BenchCollective::ReduceScatter:
      return (n - 1) / n;
    case BenchCollective::AllReduce:
      return 2 * (n - 1) / n;
    case BenchCollective::Broadcast:
      return 1;
    case BenchCollective::Barrier:
      break;
  }
  return 0;
}

int nodes_of(const BenchPlace& place) {
  return (place.ranks + place.ranks_per_node - 1) / place.ranks_per_node;
}

int bus_members(const BenchPlace& place) {
  const int nodes = nodes_of(place);
  return nodes > 1 ? nodes : place.ranks;
}

int equal_hosts(std::span<const std::string> hosts) {
  std::map<std::string_view, int> ranks_of;
  for (const std::string& host : hosts) ++ranks_of[host];
  const bool are_equal = std::ranges::all_of(ranks_of, [&](const auto& each) { return each.second == ranks_of.begin()->second; });
  return are_equal ? static_cast<int>(ranks_of.size()) : 0;
}

Seconds least_time(BenchCollective collective, Bytes whole, const BenchPlace& place, const net::Profile& profile) {
  if (place.ranks < 2) return Seconds{0};
  const int in_node = std::min(place.ranks, place.ranks_per_node);
  const int nodes = nodes_of(place);
  const auto bytes = [&](int members) {
    return Bytes{static_cast<std::int64_t>(std::floor(static_cast<double>(whole.value) * bus_factor(collective, members)))};
  };
  if (nodes == 1) return bytes(place.ranks) / profile.in_node_rate + profile.in_node_latency;
  const int foreign_pairs = in_node * (place.ranks - in_node);
  return bytes(nodes) / least_of(profile.usable_rate(), profile.stream_rate, foreign_pairs) + profile.latency;
}

Seconds least_latency(Bytes size, bool is_in_node, const net::Profile& profile) {
  return size / best_rate(is_in_node, profile) + (is_in_node ? profile.in_node_latency : profile.latency);
}

BytesPerSecond best_rate(bool is_in_node, const net::Profile& profile) {
  return is_in_node ? profile.in_node_rate : least_of(profile.usable_rate(), profile.stream_rate, 1);
}

Seconds least_incast_time(Bytes each, const BenchPlace& place, const net::Profile& profile) {
  const int in_node = std::min(place.ranks, place.ranks_per_node) - 1;
  const int foreign = place.ranks - 1 - in_node;
  const Seconds inside = in_node > 0 ? each * in_node / profile.in_node_rate : Seconds{0};
  const Seconds outside = foreign > 0 ? each * foreign / least_of(profile.usable_rate(), profile.stream_rate, foreign) : Seconds{0};
  return std::max(inside, outside);
}

BenchPlan plan_of(Seconds once, std::int64_t asked_iterations) {
  constexpr Seconds kLeastIteration{200e-6};
  constexpr Seconds kLongestRow{3};
  constexpr double kIterations = 30;
  constexpr double kFewest = 5;
  constexpr double kMostRepeats = 1000;
  const double one = std::max(once.value, 1e-9);
  BenchPlan plan;
  plan.repeats = static_cast<std::int64_t>(std::clamp(std::ceil(kLeastIteration.value / one), 1.0, kMostRepeats));
  const double fit = std::floor(kLongestRow.value / (one * static_cast<double>(plan.repeats)));
  plan.iterations = asked_iterations > 0 ? asked_iterations : static_cast<std::int64_t>(std::clamp(fit, kFewest, kIterations));
  return plan;
}

std::int64_t warmup_of(Seconds once, std::int64_t asked) {
  constexpr Seconds kLongest{1};
  const double fit = std::floor(kLongest.value / std::max(once.value, 1e-9));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(fit, 1e9)), 1, std::max<std::int64_t>(asked, 1));
}

std::int64_t window_of(Bytes size, std::int64_t asked, BytesPerSecond rate) {
  constexpr Bytes kMost = mib(64);
  constexpr double kSeconds = 0.25;
  std::int64_t fit = kMost.value / size.value;
  if (rate.value > 0) fit = std::min(fit, static_cast<std::int64_t>(rate.value * kSeconds) / size.value);
  return std::clamp<std::int64_t>(fit, 1, asked);
}

float given_element(int member, std::size_t i) {
  return static_cast<float>(mixed(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(member) + 1) % 13) - 6;
}

std::byte given_byte(int from, std::size_t i) {
  return static_cast<std::byte>(mixed(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(from) + 1) >> 3);
}

float summed_element(int members, std::size_t i, Dtype rounded) {
  float sum = 0;
  for (int member = 0; member < members; ++member) sum += given_element(member, i);
  return rounded == Dtype::Bf16 ? from_bf16(to_bf16(sum)) : sum;
}

std::int64_t count_wrong(std::span<const float> found, const std::function<float(std::size_t)>& expected) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(found[i] == expected(i))) ++wrong;  // a NaN is wrong, too
  }
  return wrong;
}

std::int64_t count_wrong(std::span<const std::byte> found, int from, std::size_t first) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != given_byte(from, first + i)) ++wrong;
  }
  return wrong;
}

std::vector<std::vector<std::pair<int, int>>> pair_rounds(int ranks) {
  const int seats = ranks + ranks % 2;  // with an odd number, who meets the last seat pauses
  std::vector<std::vector<std::pair<int, int>>> rounds;
  for (int round = 0; round < seats - 1; ++round) {
    std::vector<std::pair<int, int>> pairs;
    for (int k = 0; k < seats / 2; ++k) {
      // The last seat stays, the others move round the circle.
      const int a = k == 0 ? seats - 1 : (round + k) % (seats - 1);
      const int b = (round - k + seats - 1) % (seats - 1);
      if (a < ranks && b < ranks) pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
    if (!pairs.empty()) rounds.push_back(std::move(pairs));
  }
  return rounds;
}

void set_times(record::BenchRow& row, std::span<const double> seconds_each, double bus_factor) {
  const Interval interval = median_interval(seconds_each);
  row.iterations = std::ssize(seconds_each);
  row.seconds = interval.median;
  row.seconds_low = interval.low;
  row.seconds_high = interval.high;
  if (row.bytes > 0) row.bytes_per_second = static_cast<double>(row.bytes) / interval.median;
  if (row.bytes > 0 && bus_factor > 0) row.bus_bytes_per_second = row.bytes_per_second * bus_factor;
}

ShownTimes shown_times(const record::BenchRow& row, double dilation) {
  constexpr double kMicro = 1e6;
  constexpr double kGiga = 1e-9;
  return {.time_us = row.seconds / dilation * kMicro,
          .low_us = row.seconds_low / dilation * kMicro,
          .high_us = row.seconds_high / dilation * kMicro,
          .rate_gb_per_s = row.bytes_per_second * dilation * kGiga,
          .bus_gb_per_s = row.bus_bytes_per_second * dilation * kGiga,
          .share_percent = 100 * row.bound_seconds / row.seconds};
}

}  // namespace twinax::app
