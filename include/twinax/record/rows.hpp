#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace twinax::record {

/// What a figure is before it is known, and stays if it never is.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A training step over all ranks: one field for each column of /steps, folded as the schema says.
struct StepRow {
  std::int64_t step = 0;
  double seconds = kUnknown;
  std::int64_t tokens = 0;
  double loss = kUnknown;
  double learning_rate = kUnknown;
  double gradient_norm = kUnknown;
  double flops = kUnknown;
  double hardware_flops = kUnknown;
  double flops_per_second = kUnknown;
  double model_flops_utilization = kUnknown;
  double hardware_flops_utilization = kUnknown;
  std::int64_t bytes_between_nodes = 0;
  std::int64_t bytes_in_node = 0;
  double compute_seconds = kUnknown;
  double exposed_communication_seconds = kUnknown;
  double hidden_communication_seconds = kUnknown;
  double lower_bound_seconds = kUnknown;
  double roofline_seconds = kUnknown;
  std::int64_t memory_peak_bytes = 0;
  std::int64_t in_flight_peak = 0;
  std::int64_t in_flight_bytes_peak = 0;
  std::int64_t reductions_peak = 0;
  std::int64_t allocated_peak_bytes = 0;
  std::int64_t active_peak_bytes = 0;
  std::int64_t reserved_peak_bytes = 0;
  std::int64_t allocator_retries = 0;
  double allocator_stalled_seconds = 0;
};

/// One rank's part of a step: the columns of /ranks.
struct RankRow {
  double seconds = kUnknown;
  double compute_seconds = kUnknown;
  double waiting_seconds = kUnknown;
  double collective_exposed_seconds = kUnknown;
  double collective_hidden_seconds = kUnknown;
  double service_exposed_seconds = kUnknown;
  double service_hidden_seconds = kUnknown;
  std::int64_t memory_peak_bytes = 0;
};

/// One evaluation of the held-out part: the columns of /evaluation.
struct EvaluationRow {
  std::int64_t step = 0;
  double loss = kUnknown;
  double bits_per_byte = kUnknown;
  std::int64_t tokens = 0;
};

/// One op as it ran on a rank: the columns of /timeline. Texts longer than their column are cut.
struct TimelineRow {
  std::int64_t rank = 0;
  std::string lane{};
  std::string op{};
  std::int64_t unit = -1;
  std::int64_t step = 0;
  double begin_seconds = 0;
  double end_seconds = 0;
  std::int64_t bytes = 0;
  std::string kind{};
  double taken_seconds = 0;
  std::int64_t memory_taken_bytes = 0;
  std::int64_t memory_given_bytes = 0;
  std::int64_t gather_credits_taken = 0;
  std::int64_t gather_credits_given = 0;
  std::int64_t reduction_credits_taken = 0;
  std::int64_t reduction_credits_given = 0;
};

/// One network device of one host, by the kernel's counters: the columns of /devices.
struct DeviceRow {
  std::string host{};
  std::string device{};
  std::int64_t received_before_bytes = 0;
  std::int64_t received_after_bytes = 0;
  std::int64_t sent_before_bytes = 0;
  std::int64_t sent_after_bytes = 0;
};

/// One figure of a benchmark: the columns of /bench. Times are by the wall clock.
struct BenchRow {
  std::string test{};       ///< "all_gather", "latency"
  std::string algorithm{};  ///< of a collective
  std::string type{};       ///< of elements on the wire: "fp32", "bf16", "byte"
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t from = -1;
  std::int64_t to = -1;
  std::int64_t in_flight = 1;
  std::int64_t iterations = 0;
  double seconds = kUnknown;
  double seconds_low = kUnknown;
  double seconds_high = kUnknown;
  double bytes_per_second = kUnknown;
  double bus_bytes_per_second = kUnknown;
  double bound_seconds = kUnknown;
  std::int64_t wrong = -1;
};

}  // namespace twinax::record
