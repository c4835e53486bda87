#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/net/calibrate.hpp"

namespace twinax::net {
namespace {

double four_digits(double value) {
  if (value <= 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

/// What a stream of messages says: a message takes overhead + bytes / rate, and no less than gap.
struct Line {
  BytesPerSecond rate;
  Seconds overhead;
  Seconds gap{0};
};

Line line_through(Seconds small, Seconds large, const CalibrationOptions& options) {
  const Seconds difference = large - small;
  // Messages whose size costs no time: the clock's resolution is what bounds their rate.
  const BytesPerSecond rate = (options.large - options.small) / std::max(difference, Seconds{1e-9});
  return {.rate = rate, .overhead = std::max(small - options.small / rate, Seconds{0})};
}

/// A message between small and large tells what delays bytes from what passes beside them: it lies on the line through both if all handling
/// does, and below it where handling overlaps with the bytes of other messages.
Line nic_line(const Calibration& measured, const CalibrationOptions& options) {
  constexpr double kNoise = 1.1;
  const Line straight = line_through(measured.small_of_all, measured.large_of_all, options);
  const double middle = static_cast<double>(options.middle.value) / static_cast<double>(options.large.value);
  // overhead + middle * (large - overhead) = the middle one's time; 0 where the middle one is no longer than a small one: it is all gap.
  Seconds overhead = (measured.middle_of_all - measured.large_of_all * middle) / (1 - middle);
  if (measured.middle_of_all <= measured.small_of_all * kNoise) overhead = Seconds{0};
  overhead = std::max(overhead, Seconds{0});
  if (overhead * kNoise >= straight.overhead) return straight;
  return {.rate = options.large / (measured.large_of_all - overhead), .overhead = overhead, .gap = measured.small_of_all};
}

/// Two one-way delays, each exponential with the mean j, sum to Gamma(2, j): these are its quantiles for j = 1.
constexpr double kTenth = 0.5318, kHalf = 1.6783;

struct Delays {
  Seconds latency{0}, jitter{0}, tail{0};
  double tail_probability = 0;
};

/// `busy`: what a round trip takes beside latency and jitter. The lower half of the times says how long the others should be: the upper
/// half also has what a busy host adds.
Delays delays_of(std::span<const double> round_trips, Seconds busy) {
  constexpr double kBeyondJitter = 16;  // 2 of a million round trips exceed it without any tail
  Delays delays;
  double base = 0;
  std::size_t in_time = round_trips.size();
  for (int pass = 0; pass < 3; ++pass) {  // each on what the one before found to be in time
    const auto usual = round_trips.first(in_time);
    delays.jitter = {(quantile(usual, 0.5) - quantile(usual, 0.1)) / (kHalf - kTenth)};
    base = std::max(quantile(usual, 0.1) - kTenth * delays.jitter.value, 0.0);
    const double latest = base + std::max(kBeyondJitter * delays.jitter.value, base / 4);
    in_time = static_cast<std::size_t>(std::ranges::upper_bound(round_trips, latest) - round_trips.begin());
  }
  delays.latency = {std::max((base - busy.value) / 2, 0.0)};
  const std::size_t late = round_trips.size() - in_time;
  if (late > 0) {
    const auto mean = [](std::span<const double> times) {
      return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    };
    delays.tail = {mean(round_trips.last(late)) - mean(round_trips.first(in_time))};
    // A round trip is late if either message is.
    delays.tail_probability = 1 - std::sqrt(static_cast<double>(in_time) / static_cast<double>(round_trips.size()));
  }
  return delays;
}

}  // namespace

double quantile(std::span<const double> ascending, double share) {
  if (ascending.empty()) throw InvalidArgument("a quantile of no values");
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

bool CalibrationPlan::includes(int rank) const {
  const auto has = [&](const CalibrationFlow& flow) { return flow.from == rank || flow.to == rank; };
  return has(pair) || std::ranges::any_of(flows, has) || std::ranges::any_of(in_node, has);
}

CalibrationPlan plan_calibration(std::span<const int> node_of, const CalibrationFlow* given) {
  const int ranks = static_cast<int>(node_of.size());
  if (ranks < 2) throw InvalidArgument("a wire has two ends: calibrating needs at least 2 ranks, better on several hosts");
  const auto node = [&](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
  CalibrationPlan plan;
  plan.pair = {.from = 0, .to = 1};
  for (int rank = ranks - 1; rank > 0; --rank) {
    if (node(rank) != node(0)) plan.pair.to = rank;
  }
  if (given != nullptr) plan.pair = *given;
  const auto [from, to] = plan.pair;
  if (from < 0 || to < 0 || from >= ranks || to >= ranks || from == to) {
    throw InvalidArgument(fmt::format("can't measure between ranks {} and {}: they must be two of ranks 0 to {}", from, to, ranks - 1));
  }
  std::vector<int> senders{from}, receivers{to};
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == from || rank == to) continue;
    if (node(rank) == node(from)) senders.push_back(rank);
    if (node(rank) != node(from)) receivers.push_back(rank);
  }
  if (node(from) == node(to)) senders.resize(1);  // one node: nothing lies between nodes
  for (std::size_t i = 0; i < std::max(senders.size(), receivers.size()); ++i) {
    plan.flows.push_back({.from = senders[i % senders.size()], .to = receivers[i % receivers.size()]});
  }
  if (senders.size() > 1) plan.in_node.push_back({.from = from, .to = senders[1]});
  return plan;
}

Profile fit_profile(const Calibration& measured, const CalibrationOptions& options) {
  const Line nic = nic_line(measured, options);
  const Seconds small_alone = nic.overhead + options.small / nic.rate;
  const Delays delays = delays_of(measured.pair.round_trips_s, small_alone * 2);
  Profile profile;
  profile.rate = {four_digits(nic.rate.value)};
  profile.message_overhead = {four_digits(nic.overhead.value)};
  profile.message_gap = {four_digits(nic.gap.value)};
  profile.latency = {four_digits(delays.latency.value)};
  profile.jitter = {four_digits(delays.jitter.value)};
  profile.tail = {four_digits(delays.tail.value)};
  profile.tail_probability = four_digits(delays.tail_probability);
  constexpr double kNotable = 1.05;  // slower than this share of the NIC's own time, one stream is a limit of its own
  const Seconds by_nic = std::max(nic.gap, nic.overhead + options.large / nic.rate);
  if (measured.flows > 1 && measured.pair.large_message > by_nic * kNotable) {
    profile.stream_rate = {four_digits((options.large / measured.pair.large_message).value)};
  }
  if (measured.in_node.round_trips_s.empty()) {
    profile.in_node_rate = profile.rate;
    profile.in_node_latency = profile.latency;
  } else {
    const Line inside = line_through(measured.in_node.small_message, measured.in_node.large_message, options);
    const double half = quantile(measured.in_node.round_trips_s, 0.5) / 2;
    profile.in_node_rate = {four_digits(inside.rate.value)};
    profile.in_node_latency = {four_digits(std::max(half - (options.small / inside.rate).value, 0.0))};
  }
  return profile;
}

}  // namespace twinax::net
