#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/step/arena.hpp"
#include "twinax/step/graph.hpp"
#include "twinax/step/timeline.hpp"

namespace twinax::step {

/// Runs a graph for real: the calling thread issues ops in program order (buffers and the host's credits are taken at issue), each lane is
/// a thread.
///
/// A buffer goes back to the arena when its releaser is issued, with what lanes still do to it recorded. Past the arena's budget the
/// issuing thread waits until all lanes have done what was issued, gives the cache back and tries again; if that doesn't help, the step is
/// ended beyond the budget, since other ranks wait for it, and the arena's `overdraft` tells of it.
///
/// A body's exception stops the run: nothing more is issued, no further body starts, all lanes come to rest, all buffers go back
/// to the arena, and `run` rethrows the first one. The executor can't be used after that. Threads: `run` one at a time.
class LiveExecutor {
 public:
  /// `activity[lane]`, if not null, is kept up to date for hang reports (the issuing thread's waits for credits appear in none).
  /// `on_failure` is told a run's first failure at once, while other lanes may still wait for peers that wait for this rank: it ends their
  /// waits.
  LiveExecutor(Clock& clock, Arena& arena, std::array<ActivitySlot*, kLanes> activity,
               std::function<void(const std::exception_ptr&)> on_failure = {});
  LiveExecutor(const LiveExecutor&) = delete;
  LiveExecutor& operator=(const LiveExecutor&) = delete;
  ~LiveExecutor();
  /// Makes the memory of the graph's slots, which the executor keeps. Throws OutOfBudget.
  void prepare(const StepGraph& graph);
  /// The arena that buffers come from.
  [[nodiscard]] Arena& arena() const;
  /// Runs the graph once and returns when all its ops are complete. The graph has been verified.
  StepRun run(const StepGraph& graph, std::int64_t step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twinax::step
