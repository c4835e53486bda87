#include "twinax/step/live_executor.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/step/credits.hpp"

#include "step/lane.hpp"

namespace twinax::step {
namespace {

/// One run of a graph: what its ops share.
class Run {
 public:
  Run(const StepGraph& graph, std::int64_t step, Clock& clock, Arena& arena, const std::array<ActivitySlot*, kLanes>& activity,
      const std::function<void(const std::exception_ptr&)>& on_failure)
      : graph_(graph),
        step_(step),
        clock_(clock),
        arena_(arena),
        activity_(activity),
        on_failure_(on_failure),
        buffers_(graph.buffers().size()),
        done_(graph.ops().size()) {
    for (const PoolSpec& pool : graph.pools()) pools_.push_back(std::make_unique<Credits>(pool.capacity));
    result_.events.resize(graph.ops().size());
    result_.begin = clock.now();
  }

  /// Issues all ops in program order and waits for them.
  StepRun issue_all(std::array<std::unique_ptr<Lane>, kLanes>& lanes) {
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      if (!take(op)) break;
      result_.events[i] = {.op = {i}, .step = step_, .issued = clock_.now()};
      {
        const std::scoped_lock lock(mutex_);
        ++issued_;
      }
      lanes[static_cast<std::size_t>(op.lane)]->push([this, i] { execute(i); });
    }
    wait_for_issued();
    result_.end = clock_.now();
    if (failure_) {
      for (std::size_t b = 0; b < buffers_.size(); ++b) give_back({b});
      std::rethrow_exception(failure_);
    }
    for (const auto& pool : pools_) result_.pool_peaks.push_back(pool->peak());
    result_.buffers_peak = {buffers_peak_};
    return std::move(result_);
  }

 private:
  /// What an op's body sees.
  class Context final : public OpContext {
   public:
    explicit Context(const Run& run) : run_(run) {}
    [[nodiscard]] std::int64_t step() const override { return run_.step_; }
    [[nodiscard]] std::span<std::byte> buffer(BufferId id) const override { return run_.buffers_[id.index]; }

   private:
    const Run& run_;
  };

  /// Credits, then memory; false if the run has failed.
  bool take(const Op& op) {
    try {
      for (const CreditUse& use : op.takes) {
        if (!pools_[use.pool.index]->take(use.amount)) return false;
      }
      for (const BufferId id : op.produces) {
        const Bytes size = graph_.buffers()[id.index].size;
        const std::span<std::byte> memory = arena_.take(size);
        const std::scoped_lock lock(mutex_);
        buffers_[id.index] = memory;
        buffers_now_ += size.value;
        buffers_peak_ = std::max(buffers_peak_, buffers_now_);
      }
    } catch (...) {
      fail(std::current_exception());
    }
    const std::scoped_lock lock(mutex_);
    return !failure_;
  }

  /// Runs on the op's lane.
  void execute(std::size_t index) {
    const Op& op = graph_.ops()[index];
    bool runs = false;
    {
      std::unique_lock lock(mutex_);
      completed_.wait(lock, [&] { return failure_ != nullptr || all_done(op); });
      runs = failure_ == nullptr;
    }
    Event& event = result_.events[index];
    event.begin = clock_.now();
    if (runs && op.body) run_body(op, event.begin);
    event.end = clock_.now();
    complete(op, index);
  }

  void run_body(const Op& op, Seconds now) {
    ActivitySlot* slot = activity_[static_cast<std::size_t>(op.lane)];
    if (slot != nullptr) slot->begin(op.name, op.unit, step_, now);
    try {
      Context context(*this);
      op.body(context);
    } catch (...) {
      fail(std::current_exception());
    }
    if (slot != nullptr) slot->idle();
  }

  void complete(const Op& op, std::size_t index) {
    const std::scoped_lock lock(mutex_);
    // Once a run has failed nothing orders this op after the buffer's users: what is out then goes back when all lanes rest.
    if (!failure_) {
      for (const BufferId id : op.releases) give_back(id);
    }
    done_[index] = true;
    ++finished_;
    for (const CreditUse& use : op.gives) pools_[use.pool.index]->give(use.amount);
    // Notified under the lock: once `finished_` is up the issuing thread may end this run as soon as it gets the lock.
    completed_.notify_all();
  }

  /// Under the lock, or when all lanes rest.
  void give_back(BufferId id) {
    if (buffers_[id.index].data() == nullptr) return;
    arena_.give(buffers_[id.index]);
    buffers_[id.index] = {};
    buffers_now_ -= graph_.buffers()[id.index].size.value;
  }

  [[nodiscard]] bool all_done(const Op& op) const {
    for (const OpId id : op.after) {
      if (!done_[id.index]) return false;
    }
    return true;
  }

  void wait_for_issued() {
    std::unique_lock lock(mutex_);
    completed_.wait(lock, [this] { return finished_ == issued_; });
  }

  /// Keeps the first failure and wakes everyone who waits.
  void fail(const std::exception_ptr& failure) {
    bool is_first = false;
    {
      const std::scoped_lock lock(mutex_);
      is_first = !failure_;
      if (is_first) failure_ = failure;
    }
    if (is_first && on_failure_) on_failure_(failure);
    for (const auto& pool : pools_) pool->stop();
    completed_.notify_all();
  }

  const StepGraph& graph_;
  std::int64_t step_;
  Clock& clock_;
  Arena& arena_;
  const std::array<ActivitySlot*, kLanes>& activity_;
  const std::function<void(const std::exception_ptr&)>& on_failure_;
  std::vector<std::unique_ptr<Credits>> pools_;
  StepRun result_;  // each event is written by its lane alone

  std::mutex mutex_;  // protects all below; a pool's or the arena's mutex may be taken after it
  std::condition_variable completed_;
  std::vector<std::span<std::byte>> buffers_;  // each written before its op is queued
  std::vector<bool> done_;
  std::size_t issued_ = 0;
  std::size_t finished_ = 0;
  std::int64_t buffers_now_ = 0;
  std::int64_t buffers_peak_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

struct LiveExecutor::State {
  Clock& clock;
  Arena& arena;
  std::array<ActivitySlot*, kLanes> activity;
  std::function<void(const std::exception_ptr&)> on_failure;
  std::array<std::unique_ptr<Lane>, kLanes> lanes;
  bool failed = false;
};

LiveExecutor::LiveExecutor(Clock& clock, Arena& arena, std::array<ActivitySlot*, kLanes> activity,
                           std::function<void(const std::exception_ptr&)> on_failure)
    : state_(std::make_unique<State>(
          State{.clock = clock, .arena = arena, .activity = activity, .on_failure = std::move(on_failure), .lanes = {}})) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) state_->lanes[lane] = std::make_unique<Lane>(name_of(static_cast<LaneKind>(lane)));
}

LiveExecutor::~LiveExecutor() = default;

StepRun LiveExecutor::run(const StepGraph& graph, std::int64_t step) {
  if (state_->failed) throw InvalidArgument("this executor's last run failed; it can't be used again");
  Run run(graph, step, state_->clock, state_->arena, state_->activity, state_->on_failure);
  try {
    return run.issue_all(state_->lanes);
  } catch (...) {
    state_->failed = true;
    throw;
  }
}

}  // namespace twinax::step
