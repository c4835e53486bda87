#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "twinax/fsdp/trainer.hpp"
#include "twinax/record/run_record.hpp"
#include "twinax/step/trace_json.hpp"

#include "app/training_run.hpp"
#include "app/workload.hpp"

namespace twinax::app {

/// What a run leaves behind on rank 0: its record, if it is to have one.
class RunOutput {
 public:
  RunOutput(net::World& world, const RunRequest& request, const RunSummary& summary, const std::string& choices, int ranks,
            int ranks_per_node);

  void on_step(const record::StepRow& row, const std::vector<record::RankRow>& ranks);
  void on_evaluation(const record::EvaluationRow& row);
  void on_timeline(const fsdp::BuiltStep& built, std::span<const step::RankTimeline> timelines);
  /// Adds a word to what a reader must know.
  void add_flag(const std::string& flag);
  /// Closes the record; `sent` are the bytes of all links, `drift` how far the machine's rate is from the dilation's.
  void finish(std::span<const std::int64_t> sent, std::span<const record::DeviceRow> devices, double drift);

 private:
  void flush_if_due();
  Clock& clock_;
  Seconds pause_;
  Seconds start_;
  Seconds flushed_;
  std::string flags_;
  std::unique_ptr<record::RunRecord> record_;
};

/// Where and with what a run of `ranks` ranks is made.
[[nodiscard]] record::Environment environment_of(const net::World& world, const Config& config, const Emulation& emulation, int ranks,
                                                 int ranks_per_node);

/// What a reader of figures of `ranks` ranks must know: "oversubscribed", or nothing.
[[nodiscard]] std::string flags_of(const net::World& world, int ranks);

/// Writes the first step's parameters, gradients (before clipping), batch and loss, whole whatever the sharding. Collective; `is_root`
/// writes.
void write_dump(const std::string& path, fsdp::Trainer& trainer, Workload& workload, bool is_root);

/// Writes a trace file aside and renames it. Throws FileError.
void write_trace(const std::string& path, const step::StepGraph& graph, std::span<const step::RankTimeline> timelines);

}  // namespace twinax::app
