#pragma once

#include <span>
#include <string>
#include <vector>

#include "twinax/step/timeline.hpp"

namespace twinax::step {

/// One rank's events for a trace.
struct RankTimeline {
  int rank = 0;
  std::vector<Event> events;
};

/// The Chrome/Perfetto trace format: a process per rank, a thread per lane, complete events in microseconds relative to the earliest begin;
/// strict JSON whatever the names hold; arguments unit, step, bytes.
[[nodiscard]] std::string to_trace_json(const StepGraph& graph, std::span<const RankTimeline> ranks);

}  // namespace twinax::step
