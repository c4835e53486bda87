#include "twinax/step/timeline.hpp"

#include <algorithm>
#include <array>

namespace twinax::step {

TimeSplit split(const StepGraph& graph, std::span<const Event> events) {
  struct Edge {
    Seconds at;
    std::size_t lane;
    int change;
  };
  std::vector<Edge> edges;
  for (const Event& event : events) {
    const LaneKind lane = graph[event.op].lane;
    if (event.end <= event.begin) continue;
    edges.push_back({.at = event.begin, .lane = static_cast<std::size_t>(lane), .change = 1});
    edges.push_back({.at = event.end, .lane = static_cast<std::size_t>(lane), .change = -1});
  }
  std::ranges::sort(edges, {}, &Edge::at);
  std::array<int, kLanes> busy{};
  TimeSplit split;
  Seconds last{0};
  for (const Edge& edge : edges) {
    const Seconds span = edge.at - last;
    const bool computes = busy[static_cast<std::size_t>(LaneKind::Compute)] > 0;
    const bool communicates = busy[static_cast<std::size_t>(LaneKind::Collective)] > 0;
    if (computes) split.compute += span;
    if (communicates) (computes ? split.hidden_communication : split.exposed_communication) += span;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (busy[lane] > 0 && lane != static_cast<std::size_t>(LaneKind::Compute))
        (computes ? split.lanes[lane].hidden : split.lanes[lane].exposed) += span;
    }
    busy[edge.lane] += edge.change;
    last = edge.at;
  }
  return split;
}

Seconds taken_at(const StepGraph& graph, const Event& event) {
  for (const CreditUse& use : graph[event.op].takes) {
    if (graph.pools()[use.pool.index].side == WaitSide::Lane) return event.begin;
  }
  return event.issued;
}

}  // namespace twinax::step
