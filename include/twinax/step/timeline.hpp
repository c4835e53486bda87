#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "twinax/step/arena.hpp"
#include "twinax/step/graph.hpp"

namespace twinax::step {

/// One op as it ran. Times are the executor's clock's; `op` indexes the graph.
struct Event {
  OpId op;
  std::int64_t step = 0;
  Seconds issued{0};
  Seconds begin{0};
  Seconds end{0};
};

/// Where a step's time went, from its events. Exposed: a collective op runs while no compute op does.
struct TimeSplit {
  Seconds compute{0};
  Seconds exposed_communication{0};
  Seconds hidden_communication{0};
};

/// What one run of a graph did.
struct StepRun {
  std::vector<Event> events;  ///< one for each op, in program order
  Seconds begin{0};
  Seconds end{0};
  std::vector<std::int64_t> pool_peaks;  ///< largest number of credits out, by pool
  Bytes buffers_peak{0};                 ///< largest sum of live buffers
  MemoryUse memory;                      ///< of a live run: what its arena did
  [[nodiscard]] Seconds duration() const { return end - begin; }
};

/// Splits a run's time by sweeping over its events.
[[nodiscard]] TimeSplit split(const StepGraph& graph, std::span<const Event> events);

}  // namespace twinax::step
