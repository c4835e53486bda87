#include "twinax/step/virtual_executor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "twinax/base/error.hpp"

namespace twinax::step {
namespace {

/// Something that is given back at a moment: credits of a pool, or a buffer's bytes.
struct Return {
  Seconds at;
  std::int64_t amount;
};

/// A quantity taken at issue and given back at completions: how much is out, when enough will be, and the most that ever was.
class Account {
 public:
  /// The moment, not before `now`, at which `amount` more fits `capacity`; gives back what has come back by then.
  Seconds when_free(Seconds now, std::int64_t amount, std::int64_t capacity) {
    std::ranges::sort(returns_, {}, &Return::at);
    std::size_t used = 0;
    while (used < returns_.size() && (returns_[used].at <= now || (capacity != 0 && out_ + amount > capacity))) {
      now = std::max(now, returns_[used].at);
      out_ -= returns_[used].amount;
      ++used;
    }
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(used));
    if (capacity != 0 && out_ + amount > capacity) throw InvalidArgument("the schedule waits for credits that only later ops give back");
    return now;
  }
  void take(std::int64_t amount) {
    out_ += amount;
    peak_ = std::max(peak_, out_);
  }
  void give_at(Seconds at, std::int64_t amount) { returns_.push_back({.at = at, .amount = amount}); }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::vector<Return> returns_;
  std::int64_t out_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

StepRun run_virtual(const StepGraph& graph, const Cost& cost, const VirtualOptions& options) {
  // In program order everything that an op waits for (credits, earlier ops, its lane) is already known: one pass is the whole simulation.
  StepRun run;
  std::vector<Account> pools(graph.pools().size());
  Account memory;
  std::array<Seconds, kLanes> lane_free{};
  Seconds issuing{0};
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    issuing += options.issue;
    for (const CreditUse& use : op.takes) {
      const std::int64_t capacity = options.unlimited_credits ? 0 : graph.pools()[use.pool.index].capacity;
      issuing = pools[use.pool.index].when_free(issuing, use.amount, capacity);
      pools[use.pool.index].take(use.amount);
    }
    if (!op.produces.empty()) issuing = memory.when_free(issuing, 0, 0);
    for (const BufferId id : op.produces) memory.take(graph.buffers()[id.index].size.value);
    Seconds& free = lane_free[static_cast<std::size_t>(op.lane)];
    Event event{.op = {i}, .step = 0, .issued = issuing, .begin = std::max(issuing, free), .end = {0}};
    for (const OpId id : op.after) event.begin = std::max(event.begin, run.events[id.index].end);
    event.end = event.begin + cost.seconds(graph, {i});
    free = event.end;
    for (const CreditUse& use : op.gives) pools[use.pool.index].give_at(event.end, use.amount);
    for (const BufferId id : op.releases) memory.give_at(event.end, graph.buffers()[id.index].size.value);
    run.end = std::max(run.end, event.end);
    run.events.push_back(event);
  }
  for (const Account& pool : pools) run.pool_peaks.push_back(pool.peak());
  run.buffers_peak = {memory.peak()};
  return run;
}

}  // namespace twinax::step
