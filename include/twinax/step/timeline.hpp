#pragma once

#include <array>
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

/// How long a lane communicated: exposed while no compute op ran, hidden beside one.
struct LaneSplit {
  Seconds exposed{0};
  Seconds hidden{0};
};

/// Where a step's time went, from its events. Communication is a collective op; two lanes at once count once in the sums here.
struct TimeSplit {
  Seconds compute{0};
  Seconds exposed_communication{0};
  Seconds hidden_communication{0};
  std::array<LaneSplit, kLanes> lanes{};  ///< each lane by itself; of Compute nothing
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

/// When the op of the event took its credits and its memory.
[[nodiscard]] Seconds taken_at(const StepGraph& graph, const Event& event);

}  // namespace twinax::step
