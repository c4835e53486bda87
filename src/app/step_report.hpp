#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "twinax/collective/collectives.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/record/rows.hpp"
#include "twinax/step/timeline.hpp"
#include "twinax/step/trace_json.hpp"

#include "app/emulation.hpp"

namespace twinax::app {

/// One rank's figures of one step; plain numbers, since they travel as bytes.
struct RankFigures {
  double seconds = 0;
  double compute_s = 0;
  double exposed_s = 0;
  double hidden_s = 0;
  double collective_exposed_s = 0;
  double collective_hidden_s = 0;
  double service_exposed_s = 0;
  double service_hidden_s = 0;
  double lower_bound_s = 0;
  double roofline_s = 0;
  double flops = 0;
  double hardware_flops = 0;
  double memory_bytes = 0;
  double in_flight_units = 0;
  double in_flight_bytes = 0;
  double reductions = 0;
  double allocated_bytes = 0;
  double active_bytes = 0;
  double reserved_bytes = 0;
  double retries = 0;
  double stalled_s = 0;
  double bytes_between_nodes = 0;
  double bytes_in_node = 0;
};

/// Gathers every rank's figures, in group order. Collective.
[[nodiscard]] std::vector<RankFigures> gather_figures(collective::Collectives& control, const RankFigures& mine);

/// Folds a step over the ranks as the record's schema says: the largest time and peaks, the sum of work and bytes, the median of other
/// times.
///
/// Utilizations are those of the cluster that `emulation` stands for.
[[nodiscard]] record::StepRow fold(std::int64_t step, const fsdp::StepOutcome& outcome, std::span<const RankFigures> ranks,
                                   const Emulation& emulation);

/// What the record keeps of each rank.
[[nodiscard]] std::vector<record::RankRow> rank_rows(std::span<const RankFigures> ranks);

/// Gathers every rank's events of a step. Collective; all ranks have run the same graph.
[[nodiscard]] std::vector<step::RankTimeline> gather_timelines(collective::Collectives& control, std::span<const step::Event> mine);

/// Timelines as rows of the record, times from `start`.
[[nodiscard]] std::vector<record::TimelineRow> timeline_rows(const fsdp::BuiltStep& built, std::span<const step::RankTimeline> timelines,
                                                             Seconds start);

}  // namespace twinax::app
