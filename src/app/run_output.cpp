#include "app/run_output.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "twinax/base/write_file.hpp"
#include "twinax/net/ucx_transport.hpp"
#include "twinax/record/dump.hpp"
#include "twinax/record/environment.hpp"

#include "app/step_report.hpp"

namespace twinax::app {
namespace {

record::RecordHead head_of(const net::World& world, const RunRequest& request, const RunSummary& summary, const std::string& choices,
                           int ranks, int ranks_per_node) {
  record::RecordHead head;
  head.kind = "train";
  head.name = std::filesystem::path(request.config.text("record.path")).stem().string();
  head.command = request.command;
  head.config_toml = request.config.to_toml();
  head.environment = environment_of(world, request.config, summary.emulation, ranks, ranks_per_node);
  head.environment.model_factor = summary.scale.time;
  head.environment.token_factor = summary.scale.tokens;
  head.purposes.assign(net::kPurposes.begin(), net::kPurposes.end());
  head.choices = choices;
  head.stands_for = summary.stands_for;
  head.parameters = summary.parameters;
  head.flags = flags_of(world, ranks);
  head.point = request.point;
  head.repeat = request.repeat;
  head.warmup_steps = request.warmup_steps;
  return head;
}

}  // namespace

record::Environment environment_of(const net::World& world, const Config& config, const Emulation& emulation, int ranks,
                                   int ranks_per_node) {
  record::Environment environment = record::this_environment();
  environment.hosts = record::describe_hosts(std::span(world.hosts()).first(static_cast<std::size_t>(ranks)));
  environment.ranks = ranks;
  environment.cores = world.usable_cores();
  environment.ranks_per_node = ranks_per_node;
  environment.mpi = world.mpi_version();
  environment.ucx = net::ucx_version();
  environment.transport = config.text("net.transport");
  const std::string& profile = config.text("net.profile");
  environment.network = profile == "none" ? "" : profile;
  environment.accelerator = emulation.accelerator == "none" ? "" : emulation.accelerator;
  environment.dilation = emulation.dilation;
  return environment;
}

std::string flags_of(const net::World& world, int ranks) {
  return std::min<std::int64_t>(ranks, std::ssize(world.ranks_on_host())) > world.usable_cores() ? "oversubscribed" : "";
}

RunOutput::RunOutput(net::World& world, const RunRequest& request, const RunSummary& summary, const std::string& choices, int ranks,
                     int ranks_per_node)
    : clock_(world.clock()),
      pause_(request.config.seconds("record.flush_seconds")),
      start_(clock_.now()),
      flushed_(start_),
      flags_(flags_of(world, ranks)) {
  const std::string& path = request.config.text("record.path");
  if (path.empty()) return;
  record_ =
      std::make_unique<record::RunRecord>(path, head_of(world, request, summary, choices, ranks, ranks_per_node), request.replaces_record);
}

void RunOutput::flush_if_due() {
  if (clock_.now() - flushed_ < pause_) return;
  record_->flush();
  flushed_ = clock_.now();
}

void RunOutput::on_step(const record::StepRow& row, const std::vector<record::RankRow>& ranks) {
  if (!record_) return;
  record_->append_step(row, ranks);
  flush_if_due();
}

void RunOutput::on_evaluation(const record::EvaluationRow& row) {
  if (!record_) return;
  record_->append_evaluation(row);
  flush_if_due();
}

void RunOutput::on_timeline(const fsdp::BuiltStep& built, std::span<const step::RankTimeline> timelines) {
  if (record_) record_->append_timeline(timeline_rows(built, timelines, start_));
}

void RunOutput::add_flag(const std::string& flag) {
  flags_ += (flags_.empty() ? "" : " ") + flag;
  if (record_) record_->set_flags(flags_);
}

void RunOutput::finish(std::span<const std::int64_t> sent, std::span<const record::DeviceRow> devices, double drift) {
  if (!record_) return;
  record_->set_dilation_drift(drift);
  record_->set_links(sent);
  record_->append_devices(devices);
  record_->close();
}

void write_dump(const std::string& path, fsdp::Trainer& trainer, Workload& workload, bool is_root) {
  const auto units = workload.model().units();
  std::vector<std::vector<float>> parameters;
  for (std::size_t u = 0; u < units.size(); ++u) parameters.push_back(trainer.whole_parameters(u));
  const fsdp::StepOutcome outcome = trainer.gradients_only(0, workload.training_batch(0));
  std::vector<std::vector<float>> gradients;
  for (std::size_t u = 0; u < units.size(); ++u) gradients.push_back(trainer.whole_gradients(u));
  if (!is_root) return;
  record::DumpFile dump(path, workload.heads());
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const nn::ParameterSpec& parameter : units[u].parameters) {
      const auto at = [&](const std::vector<float>& flat) {
        return std::span(flat).subspan(static_cast<std::size_t>(parameter.offset), static_cast<std::size_t>(parameter.elements()));
      };
      dump.add_parameter(parameter.name, at(parameters[u]), parameter.shape);
      dump.add_gradient(parameter.name, at(gradients[u]), parameter.shape);
    }
  }
  const std::vector<std::int32_t> tokens = workload.whole_batch(0);
  dump.set_batch(std::vector<std::int64_t>(tokens.begin(), tokens.end()), workload.row().length, workload.row().targets);
  dump.set_loss(outcome.loss);
  dump.finish();
}

void write_trace(const std::string& path, const step::StepGraph& graph, std::span<const step::RankTimeline> timelines) {
  write_file(path, step::to_trace_json(graph, timelines));
}

}  // namespace twinax::app
