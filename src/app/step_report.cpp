#include "app/step_report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace twinax::app {
namespace {

using Field = double RankFigures::*;

double largest(std::span<const RankFigures> ranks, Field field) {
  double most = 0;
  for (const RankFigures& figures : ranks) most = std::max(most, figures.*field);
  return most;
}

double sum(std::span<const RankFigures> ranks, Field field) {
  double total = 0;
  for (const RankFigures& figures : ranks) total += figures.*field;
  return total;
}

double median(std::span<const RankFigures> ranks, Field field) {
  std::vector<double> values;
  for (const RankFigures& figures : ranks) values.push_back(figures.*field);
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::int64_t whole(double value) {
  return std::llround(value);
}

std::int64_t memory_of(const step::StepGraph& graph, std::span<const step::BufferId> buffers) {
  std::int64_t bytes = 0;
  for (const step::BufferId id : buffers) bytes += graph.buffers()[id.index].size.value;
  return bytes;
}

std::int64_t credits_of(std::span<const step::CreditUse> uses, std::optional<step::PoolId> pool) {
  std::int64_t credits = 0;
  for (const step::CreditUse& use : uses) credits += pool && use.pool == *pool ? use.amount : 0;
  return credits;
}

}  // namespace

std::vector<RankFigures> gather_figures(collective::Collectives& control, const RankFigures& mine) {
  std::vector<RankFigures> all(static_cast<std::size_t>(control.group().size()));
  control.all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  return all;
}

record::StepRow fold(std::int64_t step, const fsdp::StepOutcome& outcome, std::span<const RankFigures> ranks, const Emulation& emulation) {
  record::StepRow row;
  row.step = step;
  row.seconds = largest(ranks, &RankFigures::seconds);
  row.tokens = outcome.skipped ? 0 : outcome.tokens;
  row.loss = outcome.loss;
  row.learning_rate = outcome.learning_rate;
  row.gradient_norm = outcome.gradient_norm;
  row.flops = sum(ranks, &RankFigures::flops);
  row.hardware_flops = sum(ranks, &RankFigures::hardware_flops);
  row.flops_per_second = row.flops / row.seconds;
  if (emulation.emulated_peak.value > 0) {
    // What the accelerators could compute in the time that the step takes there.
    const double possible = emulation.emulated_peak.value * static_cast<double>(ranks.size()) * row.seconds / emulation.dilation;
    row.model_flops_utilization = row.flops / possible;
    row.hardware_flops_utilization = row.hardware_flops / possible;
  }
  row.bytes_between_nodes = whole(sum(ranks, &RankFigures::bytes_between_nodes));
  row.bytes_in_node = whole(sum(ranks, &RankFigures::bytes_in_node));
  row.compute_seconds = median(ranks, &RankFigures::compute_s);
  row.exposed_communication_seconds = median(ranks, &RankFigures::exposed_s);
  row.hidden_communication_seconds = median(ranks, &RankFigures::hidden_s);
  row.lower_bound_seconds = median(ranks, &RankFigures::lower_bound_s);
  row.roofline_seconds = median(ranks, &RankFigures::roofline_s);
  row.memory_peak_bytes = whole(largest(ranks, &RankFigures::memory_bytes));
  row.in_flight_peak = whole(largest(ranks, &RankFigures::in_flight_units));
  row.in_flight_bytes_peak = whole(largest(ranks, &RankFigures::in_flight_bytes));
  row.reductions_peak = whole(largest(ranks, &RankFigures::reductions));
  row.allocated_peak_bytes = whole(largest(ranks, &RankFigures::allocated_bytes));
  row.active_peak_bytes = whole(largest(ranks, &RankFigures::active_bytes));
  row.reserved_peak_bytes = whole(largest(ranks, &RankFigures::reserved_bytes));
  row.allocator_retries = whole(sum(ranks, &RankFigures::retries));
  row.allocator_stalled_seconds = largest(ranks, &RankFigures::stalled_s);
  return row;
}

std::vector<record::RankRow> rank_rows(std::span<const RankFigures> ranks) {
  std::vector<record::RankRow> rows;
  for (const RankFigures& figures : ranks) {
    rows.push_back({.seconds = figures.seconds,
                    .compute_seconds = figures.compute_s,
                    .waiting_seconds = std::max(figures.seconds - figures.compute_s - figures.exposed_s, 0.0),
                    .collective_exposed_seconds = figures.collective_exposed_s,
                    .collective_hidden_seconds = figures.collective_hidden_s,
                    .service_exposed_seconds = figures.service_exposed_s,
                    .service_hidden_seconds = figures.service_hidden_s,
                    .memory_peak_bytes = whole(figures.memory_bytes)});
  }
  return rows;
}

std::vector<step::RankTimeline> gather_timelines(collective::Collectives& control, std::span<const step::Event> mine) {
  const auto ranks = static_cast<std::size_t>(control.group().size());
  std::vector<step::Event> all(mine.size() * ranks);
  control.all_gather_bytes(std::as_bytes(mine), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  std::vector<step::RankTimeline> timelines;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * mine.size());
    timelines.push_back({.rank = control.group().ranks[r], .events = {begin, begin + static_cast<std::ptrdiff_t>(mine.size())}});
  }
  return timelines;
}

std::vector<record::TimelineRow> timeline_rows(const fsdp::BuiltStep& built, std::span<const step::RankTimeline> timelines, Seconds start) {
  const step::StepGraph& graph = built.graph;
  std::vector<record::TimelineRow> rows;
  for (const step::RankTimeline& timeline : timelines) {
    for (const step::Event& event : timeline.events) {
      const step::Op& op = graph[event.op];
      rows.push_back({.rank = timeline.rank,
                      .lane = name_of(op.lane),
                      .op = op.name,
                      .unit = op.unit,
                      .step = event.step,
                      .begin_seconds = (event.begin - start).value,
                      .end_seconds = (event.end - start).value,
                      .bytes = op.bytes.value,
                      .kind = name_of(op.kind),
                      .taken_seconds = (taken_at(graph, event) - start).value,
                      .memory_taken_bytes = memory_of(graph, op.produces),
                      .memory_given_bytes = memory_of(graph, op.releases),
                      .gather_credits_taken = credits_of(op.takes, built.gathered),
                      .gather_credits_given = credits_of(op.gives, built.gathered),
                      .reduction_credits_taken = credits_of(op.takes, built.reductions),
                      .reduction_credits_given = credits_of(op.gives, built.reductions)});
    }
  }
  return rows;
}

}  // namespace twinax::app
