#include "twinax/record/schema.hpp"

#include <array>

#include <fmt/format.h>

namespace twinax::record {
namespace {

constexpr std::string_view kInt = "int64";
constexpr std::string_view kFloat = "float64";
constexpr std::string_view kText = "string";

constexpr std::array kStepFields{
    Field<StepRow>{{"/steps/step", "step", kInt, "1", "-", "number of the training step, from 0"}, &StepRow::step},
    Field<StepRow>{{"/steps/seconds", "step", kFloat, "s", "maximum", "wall-clock duration"}, &StepRow::seconds},
    Field<StepRow>{{"/steps/tokens", "step", kInt, "1", "sum", "targets that were trained on"}, &StepRow::tokens},
    Field<StepRow>{{"/steps/loss", "step", kFloat, "nat", "mean weighted by tokens", "cross-entropy a token"}, &StepRow::loss},
    Field<StepRow>{{"/steps/learning_rate", "step", kFloat, "1", "the same on all", "as the update used it"}, &StepRow::learning_rate},
    Field<StepRow>{{"/steps/gradient_norm", "step", kFloat, "1", "the same on all", "global 2-norm before clipping"},
                   &StepRow::gradient_norm},
    Field<StepRow>{{"/steps/flops", "step", kFloat, "flop", "sum", "floating-point operations of forward and backward"}, &StepRow::flops},
    Field<StepRow>{{"/steps/hardware_flops", "step", kFloat, "flop", "sum", "the same, with those that are computed again for backward"},
                   &StepRow::hardware_flops},
    Field<StepRow>{{"/steps/flops_per_second", "step", kFloat, "flop/s", "sum", "flops over the step's seconds"},
                   &StepRow::flops_per_second},
    Field<StepRow>{{"/steps/model_flops_utilization", "step", kFloat, "1", "the same on all",
                    "MFU: flops a second of the emulated cluster, over its accelerators' peak; NaN if none is emulated"},
                   &StepRow::model_flops_utilization},
    Field<StepRow>{{"/steps/hardware_flops_utilization", "step", kFloat, "1", "the same on all", "HFU: the same of hardware_flops"},
                   &StepRow::hardware_flops_utilization},
    Field<StepRow>{{"/steps/bytes_between_nodes", "step", kInt, "B", "sum", "payload sent from node to node"},
                   &StepRow::bytes_between_nodes},
    Field<StepRow>{{"/steps/bytes_in_node", "step", kInt, "B", "sum", "payload sent between ranks of a node"}, &StepRow::bytes_in_node},
    Field<StepRow>{{"/steps/compute_seconds", "step", kFloat, "s", "median", "an operation of the compute lane ran"},
                   &StepRow::compute_seconds},
    Field<StepRow>{{"/steps/exposed_communication_seconds", "step", kFloat, "s", "median", "a collective ran and no compute did"},
                   &StepRow::exposed_communication_seconds},
    Field<StepRow>{{"/steps/hidden_communication_seconds", "step", kFloat, "s", "median", "a collective ran beside compute"},
                   &StepRow::hidden_communication_seconds},
    Field<StepRow>{
        {"/steps/lower_bound_seconds", "step", kFloat, "s", "median", "the step can't be shorter: its graph on an ideal network"},
        &StepRow::lower_bound_seconds},
    Field<StepRow>{{"/steps/roofline_seconds", "step", kFloat, "s", "median", "the larger of all compute and all traffic at full rate"},
                   &StepRow::roofline_seconds},
    Field<StepRow>{{"/steps/memory_peak_bytes", "step", kInt, "B", "maximum", "buffers and state alive at once"},
                   &StepRow::memory_peak_bytes},
    Field<StepRow>{{"/steps/in_flight_peak", "step", kInt, "1", "maximum", "gathered units alive at once"}, &StepRow::in_flight_peak},
    Field<StepRow>{{"/steps/in_flight_bytes_peak", "step", kInt, "B", "maximum", "bytes of gathered units alive at once"},
                   &StepRow::in_flight_bytes_peak},
    Field<StepRow>{{"/steps/reductions_peak", "step", kInt, "1", "maximum", "gradient reductions in flight at once"},
                   &StepRow::reductions_peak},
    Field<StepRow>{{"/steps/allocated_peak_bytes", "step", kInt, "B", "maximum", "memory held by tensors, as asked for"},
                   &StepRow::allocated_peak_bytes},
    Field<StepRow>{{"/steps/active_peak_bytes", "step", kInt, "B", "maximum", "blocks of memory held, or still used by a lane"},
                   &StepRow::active_peak_bytes},
    Field<StepRow>{{"/steps/reserved_peak_bytes", "step", kInt, "B", "maximum", "memory had from the system, cached blocks included"},
                   &StepRow::reserved_peak_bytes},
    Field<StepRow>{{"/steps/allocator_retries", "step", kInt, "1", "sum", "times that memory had to be waited for"},
                   &StepRow::allocator_retries},
    Field<StepRow>{{"/steps/allocator_stalled_seconds", "step", kFloat, "s", "maximum", "nothing was issued, since memory was waited for"},
                   &StepRow::allocator_stalled_seconds},
};

constexpr std::array kRankFields{
    Field<RankRow>{{"/ranks/seconds", "step, rank", kFloat, "s", "-", "wall-clock duration of the step"}, &RankRow::seconds},
    Field<RankRow>{{"/ranks/compute_seconds", "step, rank", kFloat, "s", "-", "an operation of the compute lane ran"},
                   &RankRow::compute_seconds},
    Field<RankRow>{{"/ranks/waiting_seconds", "step, rank", kFloat, "s", "-", "neither compute nor data moved"}, &RankRow::waiting_seconds},
    Field<RankRow>{
        {"/ranks/collective_exposed_seconds", "step, rank", kFloat, "s", "-", "an operation of the collective lane ran and no compute did"},
        &RankRow::collective_exposed_seconds},
    Field<RankRow>{
        {"/ranks/collective_hidden_seconds", "step, rank", kFloat, "s", "-", "an operation of the collective lane ran beside compute"},
        &RankRow::collective_hidden_seconds},
    Field<RankRow>{
        {"/ranks/service_exposed_seconds", "step, rank", kFloat, "s", "-", "an operation of the service lane ran and no compute did"},
        &RankRow::service_exposed_seconds},
    Field<RankRow>{{"/ranks/service_hidden_seconds", "step, rank", kFloat, "s", "-", "an operation of the service lane ran beside compute"},
                   &RankRow::service_hidden_seconds},
    Field<RankRow>{{"/ranks/memory_peak_bytes", "step, rank", kInt, "B", "-", "buffers and state alive at once"},
                   &RankRow::memory_peak_bytes},
};

constexpr std::array kEvaluationFields{
    Field<EvaluationRow>{{"/evaluation/step", "evaluation", kInt, "1", "-", "training steps made before"}, &EvaluationRow::step},
    Field<EvaluationRow>{
        {"/evaluation/loss", "evaluation", kFloat, "nat", "mean weighted by tokens", "cross-entropy a token, held-out part"},
        &EvaluationRow::loss},
    Field<EvaluationRow>{
        {"/evaluation/bits_per_byte", "evaluation", kFloat, "bit", "mean weighted by tokens", "the same in bits a byte of text"},
        &EvaluationRow::bits_per_byte},
    Field<EvaluationRow>{{"/evaluation/tokens", "evaluation", kInt, "1", "sum", "targets that were evaluated"}, &EvaluationRow::tokens},
};

const std::array kDeviceFields{
    Field<DeviceRow>{{"/devices/host", "device", kText, "-", "-", "where the network device is"}, &DeviceRow::host},
    Field<DeviceRow>{{"/devices/device", "device", kText, "-", "-", "eth0; of InfiniBand and RoCE with the port, mlx5_0:1"},
                     &DeviceRow::device},
    Field<DeviceRow>{{"/devices/received_before_bytes", "device", kInt, "B", "-", "the kernel's counter before the first step"},
                     &DeviceRow::received_before_bytes},
    Field<DeviceRow>{{"/devices/received_after_bytes", "device", kInt, "B", "-", "the same after the last step"},
                     &DeviceRow::received_after_bytes},
    Field<DeviceRow>{{"/devices/sent_before_bytes", "device", kInt, "B", "-", "the kernel's counter before the first step"},
                     &DeviceRow::sent_before_bytes},
    Field<DeviceRow>{{"/devices/sent_after_bytes", "device", kInt, "B", "-", "the same after the last step"}, &DeviceRow::sent_after_bytes},
};

const std::array kTimelineFields{
    Field<TimelineRow>{{"/timeline/rank", "event", kInt, "1", "-", "where the operation ran"}, &TimelineRow::rank},
    Field<TimelineRow>{{"/timeline/lane", "event", kText, "-", "-", "compute, collective or service"}, &TimelineRow::lane},
    Field<TimelineRow>{{"/timeline/op", "event", kText, "-", "-", "what it did"}, &TimelineRow::op},
    Field<TimelineRow>{{"/timeline/unit", "event", kInt, "1", "-", "the model's unit, -1 if none"}, &TimelineRow::unit},
    Field<TimelineRow>{{"/timeline/step", "event", kInt, "1", "-", "the training step"}, &TimelineRow::step},
    Field<TimelineRow>{{"/timeline/begin_seconds", "event", kFloat, "s", "-", "since the run began, by the rank's clock"},
                       &TimelineRow::begin_seconds},
    Field<TimelineRow>{{"/timeline/end_seconds", "event", kFloat, "s", "-", "since the run began, by the rank's clock"},
                       &TimelineRow::end_seconds},
    Field<TimelineRow>{{"/timeline/bytes", "event", kInt, "B", "-", "that the rank received"}, &TimelineRow::bytes},
    Field<TimelineRow>{{"/timeline/kind", "event", kText, "-", "-", "gather, reduce, forward, backward, optimize or exchange"},
                       &TimelineRow::kind},
    Field<TimelineRow>{{"/timeline/taken_seconds", "event", kFloat, "s", "-",
                        "when it took credits and memory, by the same clock; it gives back at its end"},
                       &TimelineRow::taken_seconds},
    Field<TimelineRow>{{"/timeline/memory_taken_bytes", "event", kInt, "B", "-", "of gathered units and gradients that live from then on"},
                       &TimelineRow::memory_taken_bytes},
    Field<TimelineRow>{{"/timeline/memory_given_bytes", "event", kInt, "B", "-", "of those that end with it"},
                       &TimelineRow::memory_given_bytes},
    Field<TimelineRow>{{"/timeline/gather_credits_taken", "event", kInt, "1", "-", "of the limiter's pool of gathers"},
                       &TimelineRow::gather_credits_taken},
    Field<TimelineRow>{{"/timeline/gather_credits_given", "event", kInt, "1", "-", "the same, given back"},
                       &TimelineRow::gather_credits_given},
    Field<TimelineRow>{{"/timeline/reduction_credits_taken", "event", kInt, "1", "-", "of the limiter's pool of reductions"},
                       &TimelineRow::reduction_credits_taken},
    Field<TimelineRow>{{"/timeline/reduction_credits_given", "event", kInt, "1", "-", "the same, given back"},
                       &TimelineRow::reduction_credits_given},
};

const std::array kBenchFields{
    Field<BenchRow>{{"/bench/test", "figure", kText, "-", "-", "the collective, or the test between ranks"}, &BenchRow::test},
    Field<BenchRow>{{"/bench/algorithm", "figure", kText, "-", "-", "of the collective; empty for tests between ranks"},
                    &BenchRow::algorithm},
    Field<BenchRow>{{"/bench/type", "figure", kText, "-", "-", "of elements on the wire: fp32, bf16 or byte"}, &BenchRow::type},
    Field<BenchRow>{{"/bench/bytes", "figure", kInt, "B", "-", "of a message, or of the whole buffer of a collective"}, &BenchRow::bytes},
    Field<BenchRow>{{"/bench/count", "figure", kInt, "1", "-", "the same in elements"}, &BenchRow::count},
    Field<BenchRow>{{"/bench/from", "figure", kInt, "1", "-", "rank that sends, -1 if many"}, &BenchRow::from},
    Field<BenchRow>{{"/bench/to", "figure", kInt, "1", "-", "rank that receives, -1 if many"}, &BenchRow::to},
    Field<BenchRow>{{"/bench/in_flight", "figure", kInt, "1", "-", "messages of a sender that are in flight at once"},
                    &BenchRow::in_flight},
    Field<BenchRow>{{"/bench/iterations", "figure", kInt, "1", "-", "measurements of which the median was taken"}, &BenchRow::iterations},
    Field<BenchRow>{{"/bench/seconds", "figure", kFloat, "s", "maximum", "median time of one operation, or of one message"},
                    &BenchRow::seconds},
    Field<BenchRow>{{"/bench/seconds_low", "figure", kFloat, "s", "maximum", "lower end of the median's 95% interval"},
                    &BenchRow::seconds_low},
    Field<BenchRow>{{"/bench/seconds_high", "figure", kFloat, "s", "maximum", "upper end of the median's 95% interval"},
                    &BenchRow::seconds_high},
    Field<BenchRow>{{"/bench/bytes_per_second", "figure", kFloat, "B/s", "-", "bytes over seconds"}, &BenchRow::bytes_per_second},
    Field<BenchRow>{
        {"/bench/bus_bytes_per_second", "figure", kFloat, "B/s", "-",
         "the same times what must leave each of n nodes (or, of one node, n ranks): (n-1)/n, 2(n-1)/n for all_reduce, 1 for broadcast"},
        &BenchRow::bus_bytes_per_second},
    Field<BenchRow>{{"/bench/bound_seconds", "figure", kFloat, "s", "-",
                     "the least time: of the emulated network, of copying the bytes received in the machine's memory, or, between hosts, "
                     "of net.device; "
                     "NaN if not known"},
                    &BenchRow::bound_seconds},
    Field<BenchRow>{{"/bench/wrong", "figure", kInt, "1", "sum", "elements that arrived with another value than expected, -1 if unchecked"},
                    &BenchRow::wrong},
};

constexpr Column kConfig{"/config", "", kText, "-", "-", "the effective config, TOML"};
constexpr Column kLinks{"/links/bytes", "from, to, purpose", kInt, "B", "sum", "sent between ranks during training"};
constexpr Column kPurposes{"/links/purpose", "purpose", kText, "-", "-", "what the bytes were sent for"};
constexpr Column kClocks{"/clocks/offset_seconds", "rank", kFloat, "s", "-", "the rank's clock minus rank 0's; to be taken off its times"};

template <class Fields>
void add(std::vector<Column>& columns, const Fields& fields) {
  for (const auto& field : fields) columns.push_back(field.column);
}

}  // namespace

std::span<const Field<StepRow>> step_fields() {
  return kStepFields;
}
std::span<const Field<RankRow>> rank_fields() {
  return kRankFields;
}
std::span<const Field<EvaluationRow>> evaluation_fields() {
  return kEvaluationFields;
}
std::span<const Field<DeviceRow>> device_fields() {
  return kDeviceFields;
}
std::span<const Field<TimelineRow>> timeline_fields() {
  return kTimelineFields;
}
std::span<const Field<BenchRow>> bench_fields() {
  return kBenchFields;
}
const Column& config_column() {
  return kConfig;
}
const Column& links_column() {
  return kLinks;
}
const Column& purposes_column() {
  return kPurposes;
}
const Column& clocks_column() {
  return kClocks;
}

std::vector<Column> all_columns() {
  std::vector<Column> columns{kConfig};
  add(columns, kStepFields);
  add(columns, kRankFields);
  add(columns, kEvaluationFields);
  columns.insert(columns.end(), {kLinks, kPurposes, kClocks});
  add(columns, kDeviceFields);
  add(columns, kTimelineFields);
  return columns;
}

std::vector<Column> bench_columns() {
  std::vector<Column> columns;
  add(columns, kBenchFields);
  return columns;
}

std::string as_markdown(std::span<const Column> columns) {
  std::string text = "| dataset | shape | type | unit | over ranks | what it holds |\n|---|---|---|---|---|---|\n";
  for (const Column& column : columns) {
    const std::string shape = column.shape.empty() ? "one value" : fmt::format("[{}]", column.shape);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", column.path, shape, column.type, column.unit, column.fold, column.help);
  }
  return text;
}

}  // namespace twinax::record
