#include "twinax/net/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <fmt/format.h>
#include <sched.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/lanes.hpp"

namespace twinax::net {
namespace {

constexpr Tag kOrderTag = lanes::tag(lanes::kCalibration, 0), kReadyTag = lanes::tag(lanes::kCalibration, 1);
constexpr Tag kDataTag = lanes::tag(lanes::kCalibration, 2), kEndTag = lanes::tag(lanes::kCalibration, 3);

enum class Task : std::uint64_t { End, Ping, Burst };
constexpr int kMostPings = 250;  // of an order, so that they can end when time is up
constexpr std::uint64_t kFewestMessages = 16, kMostMessages = 1 << 15;
constexpr std::uint64_t kLongBurst = 3;  // times as many messages

/// What the leading rank has all others do.
struct Order {
  Task task = Task::End;
  std::uint64_t flows = 0;  ///< an index of the list of lists
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// One flow's end: several messages in flight, and at the end an answer from the receiver.
class Stream {
 public:
  Stream(Transport& transport, bool is_sender, int peer, const Order& order, std::vector<std::byte>& memory)
      : transport_(transport), is_sender_(is_sender), peer_(peer), left_(order.count), bytes_(narrow<std::size_t>(order.bytes)) {
    constexpr std::size_t kMostInFlight = 64, kMostBytes = 4 << 20;
    window_.resize(std::clamp<std::size_t>(kMostBytes / std::max<std::size_t>(bytes_, 1), 2, kMostInFlight));
    memory.resize(std::max(memory.size(), bytes_ * window_.size()));
    if (is_sender_) end_ = transport_.receive(bytes_of(ended_), peer_, kEndTag);
    for (std::size_t i = 0; i < window_.size(); ++i) post(i, memory);
  }
  /// Makes progress; true once the receiver's answer is here, or has left.
  bool step(std::vector<std::byte>& memory) {
    for (; has_ended(next_); next_ = (next_ + 1) % window_.size()) post(next_, memory);
    // One that is late holds up no others.
    for (std::size_t i = 0; i < window_.size(); ++i) {
      if (has_ended(i)) post(i, memory);
    }
    if (active_ > 0) return false;
    if (!is_sender_ && !has_answered_) {
      end_ = transport_.send(bytes_of(ended_), peer_, kEndTag, Purpose::Control);
      has_answered_ = true;
    }
    return end_.is_done();
  }

 private:
  /// Whether a message in flight has just ended.
  bool has_ended(std::size_t i) {
    if (!window_[i].is_active() || !window_[i].is_done()) return false;
    --active_;
    return true;
  }
  void post(std::size_t i, std::vector<std::byte>& memory) {
    if (left_ == 0) return;
    --left_;
    ++active_;
    const std::span<std::byte> place = std::span(memory).subspan(is_sender_ ? 0 : i * bytes_, bytes_);
    window_[i] = is_sender_ ? transport_.send(place, peer_, kDataTag, Purpose::Control) : transport_.receive(place, peer_, kDataTag);
  }

  Transport& transport_;
  bool is_sender_;
  int peer_;
  std::uint64_t left_;
  std::size_t bytes_;
  std::size_t next_ = 0;    // the one that was posted first, unless some were late
  std::size_t active_ = 0;  // in flight
  bool has_answered_ = false;
  char ended_ = 0;
  std::vector<Request> window_;
  Request end_;
};

/// One rank's part.
class Calibrator {
 public:
  Calibrator(Transport& transport, const WaitContext& context, const CalibrationPlan& plan, const CalibrationOptions& options)
      : transport_(transport),
        waiter_(context),
        clock_(*context.clock),
        options_(options),
        flows_{std::vector{plan.pair}, plan.flows, plan.in_node} {
    for (int rank = 0; rank < transport.size(); ++rank) {
      if (rank != plan.pair.from && plan.includes(rank)) followers_.push_back(rank);
    }
    leader_ = plan.pair.from;
  }

  Calibration lead();
  void follow();

 private:
  enum Flows : std::size_t { PairFlows, AllFlows, InNodeFlows };
  template <class IsDone>
  void look_until(int peer, const IsDone& is_done);
  void await(Request request) {
    look_until(request.peer(), [&] { return request.is_done(); });
  }
  void give(const Order& order);
  void check(const Order& order) const;
  std::vector<double> ping(Flows flows);
  void echo(const Order& order);
  void run_streams(const Order& order);
  Seconds burst(Flows flows, std::uint64_t count, Bytes bytes);
  Seconds time_per_message(Flows flows, Bytes bytes);
  [[nodiscard]] const std::vector<CalibrationFlow>& flows_of(const Order& order) const { return flows_[order.flows]; }

  Transport& transport_;
  Waiter waiter_;
  Clock& clock_;
  CalibrationOptions options_;
  std::array<std::vector<CalibrationFlow>, 3> flows_;
  std::vector<int> followers_;
  int leader_ = 0;
  std::vector<std::vector<std::byte>> memory_;  // of each stream
};

template <class IsDone>
void Calibrator::look_until(int peer, const IsDone& is_done) {
  constexpr int kLooksBetweenChecks = 1000;
  Wait wait(waiter_, peer);
  for (int looks = 1; !is_done(); ++looks) {
    transport_.progress();
    if (looks % kLooksBetweenChecks == 0) wait.before_sleep();  // ends with the job
    if (options_.poll > Seconds{0}) {
      clock_.sleep_until(clock_.now() + options_.poll);
    } else {
      sched_yield();
    }
  }
}

/// Followers answer that they are ready, so that nobody starts before all know what.
void Calibrator::give(const Order& order) {
  for (const int rank : followers_) await(transport_.send(std::as_bytes(std::span(&order, 1)), rank, kOrderTag, Purpose::Control));
  char ready = 0;
  for (const int rank : followers_) await(transport_.receive(bytes_of(ready), rank, kReadyTag));
}

std::vector<double> Calibrator::ping(Flows flows) {
  const int peer = flows_[flows].front().to;
  std::vector<std::byte> message(narrow<std::size_t>(options_.small.value));
  std::vector<double> round_trips;
  const Seconds end = clock_.now() + options_.longest_pings;
  for (int left = options_.pings; left > 0 && clock_.now() < end; left -= kMostPings) {
    const int count = std::min(left, kMostPings);
    give({.task = Task::Ping, .flows = flows, .count = static_cast<std::uint64_t>(count), .bytes = message.size()});
    for (int i = 0; i < count; ++i) {
      const Seconds begin = clock_.now();
      Request answer = transport_.receive(message, peer, kDataTag);
      await(transport_.send(message, peer, kDataTag, Purpose::Control));
      await(std::move(answer));
      round_trips.push_back((clock_.now() - begin).value);
    }
  }
  std::ranges::sort(round_trips);
  return round_trips;
}

void Calibrator::echo(const Order& order) {
  if (transport_.rank() != flows_of(order).front().to) return;
  std::vector<std::byte> message(narrow<std::size_t>(order.bytes));
  for (std::uint64_t i = 0; i < order.count; ++i) {
    await(transport_.receive(message, leader_, kDataTag));
    await(transport_.send(message, leader_, kDataTag, Purpose::Control));
  }
}

void Calibrator::run_streams(const Order& order) {
  std::vector<std::unique_ptr<Stream>> streams;  // each stays where it is: messages in flight point into it
  int peer = -1;
  for (const CalibrationFlow& flow : flows_of(order)) {
    const bool is_sender = flow.from == transport_.rank();
    if (!is_sender && flow.to != transport_.rank()) continue;
    peer = is_sender ? flow.to : flow.from;
    if (memory_.size() <= streams.size()) memory_.emplace_back();
    streams.push_back(std::make_unique<Stream>(transport_, is_sender, peer, order, memory_[streams.size()]));
  }
  look_until(peer, [&] {
    bool are_done = true;
    for (std::size_t i = 0; i < streams.size(); ++i) are_done = streams[i]->step(memory_[i]) && are_done;
    return are_done;
  });
}

/// Ends when the last flow has ended, as the leader hears of it.
Seconds Calibrator::burst(Flows flows, std::uint64_t count, Bytes bytes) {
  const Order order{.task = Task::Burst, .flows = flows, .count = count, .bytes = static_cast<std::uint64_t>(bytes.value)};
  give(order);
  const Seconds begin = clock_.now();
  run_streams(order);
  char done = 0;
  for (const int rank : followers_) await(transport_.receive(bytes_of(done), rank, kReadyTag));
  return clock_.now() - begin;
}

/// From bursts of n and 3 n messages, so that what a burst costs once cancels.
Seconds Calibrator::time_per_message(Flows flows, Bytes bytes) {
  std::uint64_t n = kFewestMessages;
  for (Seconds lasts = burst(flows, n, bytes); lasts < options_.burst / 2 && n < kMostMessages; lasts = burst(flows, n, bytes)) n *= 2;
  std::vector<double> times;
  for (int i = 0; i < options_.repeats; ++i) {
    const Seconds once = burst(flows, n, bytes);
    times.push_back((burst(flows, kLongBurst * n, bytes) - once).value / static_cast<double>((kLongBurst - 1) * n * flows_[flows].size()));
  }
  std::ranges::sort(times);
  return {std::max(quantile(times, 0.5), 0.0)};
}

Calibration Calibrator::lead() {
  const auto measure = [&](Flows flows) {
    WireFigures figures{.round_trips_s = ping(flows),
                        .small_message = time_per_message(flows, options_.small),
                        .middle_message = {0},
                        .large_message = {0}};
    figures.middle_message = time_per_message(flows, options_.middle);
    figures.large_message = time_per_message(flows, options_.large);
    return figures;
  };
  Calibration measured;
  measured.pair = measure(PairFlows);
  measured.small_of_all = measured.pair.small_message;
  measured.middle_of_all = measured.pair.middle_message;
  measured.large_of_all = measured.pair.large_message;
  measured.flows = narrow<int>(flows_[AllFlows].size());
  if (measured.flows > 1) {
    measured.small_of_all = time_per_message(AllFlows, options_.small);
    measured.middle_of_all = time_per_message(AllFlows, options_.middle);
    measured.large_of_all = time_per_message(AllFlows, options_.large);
  }
  if (!flows_[InNodeFlows].empty()) measured.in_node = measure(InNodeFlows);
  give({.task = Task::End});
  return measured;
}

/// Refuses what no leader with the same plan and options orders, before any of it is used.
void Calibrator::check(const Order& order) const {
  if (order.task == Task::End) return;
  const bool is_ping = order.task == Task::Ping;
  const auto is_size = [&](Bytes size) { return order.bytes == static_cast<std::uint64_t>(size.value); };
  const bool is_known = is_ping || order.task == Task::Burst;
  const bool has_flows = order.flows < flows_.size() && !flows_[order.flows].empty();
  const bool has_size = is_size(options_.small) || (!is_ping && (is_size(options_.middle) || is_size(options_.large)));
  const bool has_count = order.count <= (is_ping ? static_cast<std::uint64_t>(kMostPings) : kLongBurst * kMostMessages);
  if (is_known && has_flows && has_size && has_count) return;
  throw ProtocolError(
      fmt::format("calibrating: rank {} orders task {}, {} messages of {} B on flows {}, which no calibration of these ranks has", leader_,
                  static_cast<std::uint64_t>(order.task), order.count, order.bytes, order.flows));
}

void Calibrator::follow() {
  Order order{.task = Task::Ping};
  const char ready = 1;
  while (order.task != Task::End) {
    await(transport_.receive(bytes_of(order), leader_, kOrderTag));
    check(order);
    await(transport_.send(std::as_bytes(std::span(&ready, 1)), leader_, kReadyTag, Purpose::Control));
    if (order.task == Task::Ping) echo(order);
    if (order.task == Task::Burst) {
      run_streams(order);
      await(transport_.send(std::as_bytes(std::span(&ready, 1)), leader_, kReadyTag, Purpose::Control));
    }
  }
}

}  // namespace

Calibration calibrate(Transport& transport, const WaitContext& context, const CalibrationPlan& plan, const CalibrationOptions& options) {
  if (context.clock == nullptr) throw InvalidArgument("calibrating needs a clock");
  if (!plan.includes(transport.rank())) return {};
  Calibrator calibrator(transport, context, plan, options);
  if (transport.rank() == plan.pair.from) return calibrator.lead();
  calibrator.follow();
  return {};
}

}  // namespace twinax::net
