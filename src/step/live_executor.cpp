#include "twinax/step/live_executor.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/step/credits.hpp"

#include "step/lane.hpp"

namespace twinax::step {
namespace {

/// Memory of slots by their names.
using Slots = std::map<std::string, std::span<std::byte>>;

/// What runs of an executor share.
struct Shared {
  Clock& clock;
  Arena& arena;
  std::array<ActivitySlot*, kLanes> activity;
  std::function<void(const std::exception_ptr&)> on_failure;
  Slots slots;
};

/// One run of a graph: what its ops share.
class Run {
 public:
  Run(const StepGraph& graph, std::int64_t step, Shared& shared)
      : graph_(graph),
        step_(step),
        shared_(shared),
        clock_(shared.clock),
        arena_(shared.arena),
        first_mark_(shared.arena.begin_marks(graph.ops().size())),
        buffers_(graph.buffers().size()),
        done_(graph.ops().size()) {
    for (const PoolSpec& pool : graph.pools()) pools_.push_back(std::make_unique<Credits>(pool.capacity, pool.refill));
    result_.events.resize(graph.ops().size());
    arena_.reset_use();
    result_.begin = clock_.now();
  }

  /// Issues all ops in program order and waits for them.
  StepRun issue_all(std::array<std::unique_ptr<Lane>, kLanes>& lanes) {
    for (std::size_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      if (!take(i)) break;
      result_.events[i] = {.op = {i}, .step = step_, .issued = clock_.now()};
      {
        const std::scoped_lock lock(mutex_);
        ++issued_;
      }
      lanes[static_cast<std::size_t>(op.lane)]->push([this, i] { execute(i); });
    }
    wait_for_issued();
    result_.end = clock_.now();
    end_memory();
    if (failure_) std::rethrow_exception(failure_);
    for (const auto& pool : pools_) result_.pool_peaks.push_back(pool->peak());
    result_.buffers_peak = {buffers_peak_};
    result_.memory = arena_.memory_use();
    return std::move(result_);
  }

 private:
  /// What an op's body sees.
  class Context final : public OpContext {
   public:
    explicit Context(const Run& run) : run_(run) {}
    [[nodiscard]] std::int64_t step() const override { return run_.step_; }
    [[nodiscard]] std::span<std::byte> buffer(BufferId id) const override { return run_.buffers_[id.index].memory; }

   private:
    const Run& run_;
  };

  /// A buffer's memory while it lives.
  struct Live {
    std::span<std::byte> memory;
    bool is_taken = false;  // from the arena, and not yet given back
  };

  /// Credits, then memory; false if the run has failed.
  bool take(std::size_t index) {
    const Op& op = graph_.ops()[index];
    try {
      for (const CreditUse& use : op.takes) {
        if (graph_.pools()[use.pool.index].side == WaitSide::Host && !pools_[use.pool.index]->take(use.amount)) return false;
      }
      for (const BufferId id : op.produces) take_memory(index, id);
      if (!waits_on_lane(op)) count_buffers(op);
      for (const auto* ids : {&op.produces, &op.uses, &op.releases}) {
        for (const BufferId id : *ids) {
          if (buffers_[id.index].is_taken) arena_.use(buffers_[id.index].memory, mark(index));
        }
      }
      for (const BufferId id : op.releases) give(id);
    } catch (...) {
      fail(std::current_exception());
    }
    const std::scoped_lock lock(mutex_);
    return !failure_;
  }

  [[nodiscard]] Mark mark(std::size_t index) const { return {.lane = graph_.ops()[index].lane, .position = first_mark_ + index + 1}; }

  /// Whether the op's lane waits for its credits. Then the memory it gets may still be in use when it is issued.
  [[nodiscard]] bool waits_on_lane(const Op& op) const {
    for (const CreditUse& use : op.takes) {
      if (graph_.pools()[use.pool.index].side == WaitSide::Lane) return true;
    }
    return false;
  }

  void take_memory(std::size_t index, BufferId id) {
    const Op& op = graph_.ops()[index];
    const BufferSpec& buffer = graph_.buffers()[id.index];
    if (buffer.slot) {
      const std::span<std::byte> whole = shared_.slots.at(graph_.slots()[buffer.slot->index].name);
      buffers_[id.index].memory = whole.first(static_cast<std::size_t>(buffer.size.value));
      return;
    }
    Ask ask{.size = buffer.size, .holder = buffer.name, .lane = op.lane, .in_common = true};
    if (waits_on_lane(op)) ask.waits_for = waits_for(op);
    std::optional<std::span<std::byte>> taken = arena_.try_take(ask);
    if (!taken) taken = retry(ask);
    buffers_[id.index] = {.memory = taken ? *taken : arena_.overdraw(ask), .is_taken = true};
  }

  /// The marks of the ops that one waits for before it begins.
  [[nodiscard]] std::array<std::uint64_t, kLanes> waits_for(const Op& op) const {
    std::array<std::uint64_t, kLanes> positions{};
    for (const auto* ids : {&op.after, &op.after_credits}) {
      for (const OpId id : *ids) {
        std::uint64_t& position = positions[static_cast<std::size_t>(graph_[id].lane)];
        position = std::max(position, mark(id.index).position);
      }
    }
    return positions;
  }

  /// All that was issued completes: it waits for earlier ops only, on this rank and on all others, which issue the same.
  std::optional<std::span<std::byte>> retry(const Ask& ask) {
    const Seconds begin = clock_.now();
    wait_for_issued();
    arena_.give_back_cached();
    std::optional<std::span<std::byte>> taken = arena_.try_take(ask);
    arena_.count_retry(clock_.now() - begin);
    return taken;
  }

  void count_buffers(const Op& op) {
    if (op.produces.empty()) return;
    const std::scoped_lock lock(mutex_);
    for (const BufferId id : op.produces) buffers_now_ += graph_.buffers()[id.index].size.value;
    buffers_peak_ = std::max(buffers_peak_, buffers_now_);
  }

  /// Issuing thread only.
  void give(BufferId id) {
    if (!buffers_[id.index].is_taken) return;
    buffers_[id.index].is_taken = false;
    arena_.give(buffers_[id.index].memory);
  }

  /// When all lanes rest: whatever a failed run has left goes back.
  void end_memory() {
    for (std::size_t b = 0; b < buffers_.size(); ++b) give({b});
    const std::uint64_t last = first_mark_ + graph_.ops().size();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      arena_.passed({.lane = static_cast<LaneKind>(lane), .position = last});
    }
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
    if (runs) take_on_lane(op);
    Event& event = result_.events[index];
    event.begin = clock_.now();
    if (runs && op.body) run_body(op, event.begin);
    event.end = clock_.now();
    complete(op, index);
  }

  /// The order of ops has seen to it that the credits are there.
  void take_on_lane(const Op& op) {
    if (!waits_on_lane(op)) return;
    try {
      for (const CreditUse& use : op.takes) {
        if (graph_.pools()[use.pool.index].side == WaitSide::Lane) pools_[use.pool.index]->take_now(use.amount);
      }
      count_buffers(op);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void run_body(const Op& op, Seconds now) {
    ActivitySlot* slot = shared_.activity[static_cast<std::size_t>(op.lane)];
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
    done_[index] = true;
    ++finished_;
    // Once a run has failed nothing orders this op after others: what it took and released is sorted out when all lanes rest.
    if (!failure_) {
      arena_.passed(mark(index));
      for (const BufferId id : op.releases) buffers_now_ -= graph_.buffers()[id.index].size.value;
      for (const CreditUse& use : op.gives) pools_[use.pool.index]->give(use.amount);
    }
    // Notified under the lock: once `finished_` is up the issuing thread may end this run as soon as it gets the lock.
    completed_.notify_all();
  }

  [[nodiscard]] bool all_done(const Op& op) const {
    for (const auto* ids : {&op.after, &op.after_credits}) {
      for (const OpId id : *ids) {
        if (!done_[id.index]) return false;
      }
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
    if (is_first && shared_.on_failure) shared_.on_failure(failure);
    for (const auto& pool : pools_) pool->stop();
    completed_.notify_all();
  }

  const StepGraph& graph_;
  std::int64_t step_;
  Shared& shared_;
  Clock& clock_;
  Arena& arena_;
  std::vector<std::unique_ptr<Credits>> pools_;
  std::uint64_t first_mark_;   // the arena's position before the first op's
  StepRun result_;             // each event is written by its lane alone
  std::vector<Live> buffers_;  // each written before its op is queued

  std::mutex mutex_;  // protects all below; a pool's or the arena's mutex may be taken after it
  std::condition_variable completed_;
  std::vector<bool> done_;
  std::size_t issued_ = 0;
  std::size_t finished_ = 0;
  std::int64_t buffers_now_ = 0;
  std::int64_t buffers_peak_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

struct LiveExecutor::State {
  Shared shared;
  std::array<std::unique_ptr<Lane>, kLanes> lanes;
  bool failed = false;
};

LiveExecutor::LiveExecutor(Clock& clock, Arena& arena, std::array<ActivitySlot*, kLanes> activity,
                           std::function<void(const std::exception_ptr&)> on_failure)
    : state_(std::make_unique<State>(
          State{.shared = {.clock = clock, .arena = arena, .activity = activity, .on_failure = std::move(on_failure), .slots = {}},
                .lanes = {}})) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) state_->lanes[lane] = std::make_unique<Lane>(name_of(static_cast<LaneKind>(lane)));
}

LiveExecutor::~LiveExecutor() {
  for (const auto& [name, memory] : state_->shared.slots) state_->shared.arena.give(memory);
}

Arena& LiveExecutor::arena() const {
  return state_->shared.arena;
}

void LiveExecutor::prepare(const StepGraph& graph) {
  Shared& shared = state_->shared;
  for (const SlotSpec& slot : graph.slots()) {
    const auto known = shared.slots.find(slot.name);
    if (known != shared.slots.end() && std::ssize(known->second) >= slot.size.value) continue;
    if (known != shared.slots.end()) {
      shared.arena.give(known->second);
      shared.slots.erase(known);
    }
    const Ask ask{.size = slot.size, .holder = slot.name, .lane = LaneKind::Collective, .in_common = true};
    shared.slots.emplace(slot.name, shared.arena.take(ask));
  }
}

StepRun LiveExecutor::run(const StepGraph& graph, std::int64_t step) {
  if (state_->failed) throw InvalidArgument("this executor's last run failed; it can't be used again");
  prepare(graph);
  Run run(graph, step, state_->shared);
  try {
    return run.issue_all(state_->lanes);
  } catch (...) {
    state_->failed = true;
    throw;
  }
}

}  // namespace twinax::step
