#include "twinax/step/virtual_executor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "twinax/base/error.hpp"

namespace twinax::step {
namespace {

/// Something that is given back at a moment.
struct Return {
  Seconds at;
  std::int64_t amount;
};

/// Credits that the issuing thread waits for.
class HostPool {
 public:
  HostPool(std::int64_t capacity, Refill refill) : count_(capacity, refill) {}

  /// Takes credits at the moment, not before `now`, at which they are there; returns it.
  Seconds take(Seconds now, std::int64_t amount) {
    std::ranges::sort(returns_, {}, &Return::at);
    std::size_t used = 0;
    while (used < returns_.size() && (returns_[used].at <= now || !count_.is_there(amount))) {
      now = std::max(now, returns_[used].at);
      count_.give(returns_[used].amount);
      ++used;
    }
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(used));
    if (!count_.is_there(amount)) throw InvalidArgument("the schedule waits for credits that only later ops give back");
    count_.take(amount);
    return now;
  }
  void give_at(Seconds at, std::int64_t amount) { returns_.push_back({.at = at, .amount = amount}); }

 private:
  CreditCount count_;
  std::vector<Return> returns_;
};

/// How much of something is out over time, written down in program order.
class Account {
 public:
  void add(Seconds at, std::int64_t amount) { changes_.push_back({.at = at, .amount = amount}); }
  /// The most that ever was; of one moment the changes count in program order.
  [[nodiscard]] std::int64_t peak() {
    std::ranges::stable_sort(changes_, {}, &Return::at);
    std::int64_t out = 0;
    std::int64_t most = 0;
    for (const Return& change : changes_) {
      out += change.amount;
      most = std::max(most, out);
    }
    return most;
  }

 private:
  std::vector<Return> changes_;
};

/// The run, op by op. In program order everything that an op waits for (credits, earlier ops, its lane) is already known: one pass is the
/// whole simulation.
class VirtualRun {
 public:
  VirtualRun(const StepGraph& graph, const Cost& cost, const VirtualOptions& options)
      : graph_(graph), cost_(cost), options_(options), credits_(graph.pools().size()) {
    for (const PoolSpec& pool : graph.pools()) pools_.emplace_back(options.unlimited_credits ? 0 : pool.capacity, pool.refill);
  }

  StepRun run() {
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) add(i);
    for (Account& pool : credits_) run_.pool_peaks.push_back(pool.peak());
    run_.buffers_peak = {memory_.peak()};
    return std::move(run_);
  }

 private:
  void add(std::size_t index) {
    const Op& op = graph_.ops()[index];
    issuing_ += options_.issue;
    bool on_lane = false;
    for (const CreditUse& use : op.takes) {
      if (graph_.pools()[use.pool.index].side == WaitSide::Lane) {
        on_lane = true;
      } else {
        issuing_ = pools_[use.pool.index].take(issuing_, use.amount);
        credits_[use.pool.index].add(issuing_, use.amount);
      }
    }
    Seconds& free = lane_free_[static_cast<std::size_t>(op.lane)];
    Event event{.op = {index}, .step = 0, .issued = issuing_, .begin = std::max(issuing_, free), .end = {0}};
    for (const OpId id : op.after) event.begin = std::max(event.begin, run_.events[id.index].end);
    for (const OpId id : op.after_credits) {
      if (!options_.unlimited_credits) event.begin = std::max(event.begin, run_.events[id.index].end);
    }
    event.end = event.begin + cost_.seconds(graph_, {index});
    free = event.end;
    run_.end = std::max(run_.end, event.end);
    for (const CreditUse& use : op.takes) {
      if (graph_.pools()[use.pool.index].side == WaitSide::Lane) credits_[use.pool.index].add(event.begin, use.amount);
    }
    for (const BufferId id : op.produces) memory_.add(on_lane ? event.begin : event.issued, graph_.buffers()[id.index].size.value);
    for (const CreditUse& use : op.gives) {
      pools_[use.pool.index].give_at(event.end, use.amount);
      credits_[use.pool.index].add(event.end, -use.amount);
    }
    for (const BufferId id : op.releases) memory_.add(event.end, -graph_.buffers()[id.index].size.value);
    run_.events.push_back(event);
  }

  const StepGraph& graph_;
  const Cost& cost_;
  const VirtualOptions& options_;
  StepRun run_;
  std::vector<HostPool> pools_;
  std::vector<Account> credits_;
  Account memory_;
  std::array<Seconds, kLanes> lane_free_{};
  Seconds issuing_{0};
};

}  // namespace

StepRun run_virtual(const StepGraph& graph, const Cost& cost, const VirtualOptions& options) {
  return VirtualRun(graph, cost, options).run();
}

}  // namespace twinax::step
