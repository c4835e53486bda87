#include "app/training_run.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "twinax/base/log.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/fsdp/bound.hpp"
#include "twinax/step/live_executor.hpp"
#include "twinax/step/virtual_executor.hpp"

#include "app/agreement.hpp"
#include "app/device_watch.hpp"
#include "app/links.hpp"
#include "app/prepare_run.hpp"
#include "app/run_output.hpp"
#include "app/step_report.hpp"
#include "app/stood_for.hpp"
#include "app/trainer_options.hpp"
#include "app/workload.hpp"

namespace twinax::app {
namespace {

std::int64_t sum_over_ranks(collective::Collectives& control, std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(control.group().size()));
  control.all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

/// What a step computes over what its model needs: more than 1 where forward is run again before backward.
double recomputation(const step::StepGraph& graph, const fsdp::StepPlan& plan) {
  Flops computed{0};
  Flops needed{0};
  for (const step::Op& op : graph.ops()) computed += op.flops;
  for (const Flops stage : plan.forward_flops) needed += stage;
  for (const Flops stage : plan.backward_flops) needed += stage;
  return needed.value > 0 ? computed.value / (needed.value * static_cast<double>(plan.micro_batches)) : 1;
}

/// The network of a run, decided before anything is sent over it.
struct Network {
  Emulation emulation;
  int ranks_per_node = 1;
  int nodes = 1;
  std::optional<net::Profile> profile;
};

RunSize size_of_run(const Workload& workload, int nodes) {
  return {.parameters = workload.parameters(),
          .sequence = workload.sequence_flops(),
          .nodes = nodes,
          .sequences_per_node = workload.global_batch() / nodes,
          .tokens_per_node = workload.global_tokens() / nodes};
}

/// One run on one of the ranks that take part.
class TrainingRun {
 public:
  TrainingRun(net::World& world, const RunRequest& request, Prepared& prepared, const Network& network, Links& links, step::Arena& arena,
              RunObserver* observer)
      : world_(world),
        request_(request),
        config_(request.config),
        observer_(observer),
        prepared_(prepared),
        network_(network),
        links_(links),
        devices_(world, config_, group()),
        arena_(arena),
        common_(arena, links.heap()),
        executor_(world.clock(), arena_, {&world.activities()[0], &world.activities()[1], &world.activities()[2]},
                  [&world](const std::exception_ptr& error) { world.fail(error); }),
        trainer_(prepared_.workload.model(), links_.groups(), executor_, trainer_options(config_, prepared_.workload)) {
    const net::Profile* profile = network_.profile ? &*network_.profile : nullptr;
    const fsdp::BoundCost cost(trainer_.built(), trainer_.plan(), prepared_.times, profile, network_.ranks_per_node,
                               config_.text("collective.algorithm") == "hierarchical");
    lower_bound_ = run_virtual(trainer_.built().graph, cost, {.unlimited_credits = true}).duration();
    roofline_ = cost.roofline();
    recomputation_ = recomputation(trainer_.built().graph, trainer_.plan());
    summary_.emulation = network_.emulation;
    summary_.choices = prepared_.choices;
    summary_.parameters = prepared_.workload.parameters();
    summary_.bits_per_token = std::numeric_limits<double>::quiet_NaN();
    summary_.bits_per_byte = std::numeric_limits<double>::quiet_NaN();
    const RunSize size = size_of_run(prepared_.workload, network_.nodes);
    summary_.stands_for = stands_for(config_, network_.emulation, size);
    if (network_.emulation.accelerator != "none") summary_.scale = scale_of(config_, size);
  }

  /// Opens what the run leaves behind; on the first member alone.
  void open_output() {
    if (is_root())
      output_.emplace(world_, request_, summary_, prepared_.choices + links_.choices(), group().size(), network_.ranks_per_node);
  }

  RunSummary run() {
    try {
      if (!request_.dump.empty()) write_dump(request_.dump, trainer_, prepared_.workload, is_root());
      const std::int64_t steps = config_.integer("train.steps");
      for (std::int64_t s = 0; s < steps; ++s) train_step(s, steps);
    } catch (const fsdp::StepOutOfBudget& shortage) {
      const auto rank = static_cast<std::size_t>(shortage.rank());
      summary_.out_of_budget = fmt::format("rank {} on {}: {}", rank, world_.hosts()[rank], shortage.shortage());
      if (is_root()) output_->add_flag("out_of_budget");
    }
    finish();
    return summary_;
  }

 private:
  [[nodiscard]] const collective::Group& group() const { return prepared_.control->group(); }
  [[nodiscard]] bool is_root() const { return group().index == 0; }

  void train_step(std::int64_t s, std::int64_t steps) {
    const fsdp::RankBatch batch = prepared_.workload.training_batch(s);
    const Bytes between = links_.sent_between_nodes();
    const Bytes in_node = links_.sent_in_node();
    const fsdp::StepOutcome outcome = trainer_.step(s, batch);
    RankFigures figures = figures_of(outcome);
    figures.bytes_between_nodes = static_cast<double>((links_.sent_between_nodes() - between).value);
    figures.bytes_in_node = static_cast<double>((links_.sent_in_node() - in_node).value);
    const std::vector<RankFigures> all = gather_figures(links_.control(), figures);
    const bool keeps_timeline = steps - s <= config_.integer("record.timeline_steps");
    if (keeps_timeline || (s + 1 == steps && !request_.trace.empty()))
      last_timelines_ = gather_timelines(links_.control(), outcome.run.events);
    if (is_root()) {
      const record::StepRow row = fold(s, outcome, all, network_.emulation);
      if (outcome.skipped) log_warn(fmt::format("step {}: the gradient norm is not finite; the update is skipped", s));
      output_->on_step(row, rank_rows(all));
      if (keeps_timeline) output_->on_timeline(trainer_.built(), last_timelines_);
      seconds_.push_back(row.seconds);
      summary_.loss = outcome.loss;
      summary_.steps = s + 1;
      if (s >= request_.warmup_steps) summary_.allocator_retries += row.allocator_retries;
      if (observer_ != nullptr) observer_->on_step(s, steps, outcome.loss, {row.seconds});
    }
    const std::int64_t every = config_.integer("train.evaluate_every");
    if (every > 0 && ((s + 1) % every == 0 || s + 1 == steps)) evaluate(s);
  }

  [[nodiscard]] RankFigures figures_of(const fsdp::StepOutcome& outcome) const {
    const step::MemoryUse& memory = outcome.run.memory;
    const step::TimeSplit split = step::split(trainer_.built().graph, outcome.run.events);
    const step::LaneSplit collective = split.lanes[static_cast<std::size_t>(step::LaneKind::Collective)];
    const step::LaneSplit service = split.lanes[static_cast<std::size_t>(step::LaneKind::Service)];
    RankFigures figures{.seconds = outcome.run.duration().value,
                        .compute_s = split.compute.value,
                        .exposed_s = split.exposed_communication.value,
                        .hidden_s = split.hidden_communication.value,
                        .collective_exposed_s = collective.exposed.value,
                        .collective_hidden_s = collective.hidden.value,
                        .service_exposed_s = service.exposed.value,
                        .service_hidden_s = service.hidden.value,
                        .lower_bound_s = lower_bound_.value,
                        .roofline_s = roofline_.value,
                        .flops = prepared_.workload.step_flops().value,
                        .hardware_flops = prepared_.workload.step_flops().value * recomputation_,
                        .memory_bytes = static_cast<double>((trainer_.state_bytes() + outcome.run.buffers_peak).value),
                        .in_flight_bytes = static_cast<double>(outcome.run.buffers_peak.value),
                        .allocated_bytes = static_cast<double>(memory.allocated_peak.value),
                        .active_bytes = static_cast<double>(memory.active_peak.value),
                        .reserved_bytes = static_cast<double>(memory.reserved_peak.value),
                        .retries = static_cast<double>(memory.retries),
                        .stalled_s = memory.stalled.value};
    if (const auto& pool = trainer_.built().gathered) figures.in_flight_units = static_cast<double>(outcome.run.pool_peaks[pool->index]);
    if (const auto& pool = trainer_.built().reductions) figures.reductions = static_cast<double>(outcome.run.pool_peaks[pool->index]);
    return figures;
  }

  void evaluate(std::int64_t s) {
    double loss_sum = 0;
    std::int64_t tokens = 0;
    std::int64_t retries = 0;
    for (std::int64_t round = 0; round < prepared_.workload.evaluation_rounds(); ++round) {
      const fsdp::StepOutcome outcome = trainer_.evaluate(s, prepared_.workload.evaluation_batch(round));
      loss_sum += outcome.loss * static_cast<double>(outcome.tokens);
      tokens += outcome.tokens;
      retries += outcome.run.memory.retries;
    }
    retries = sum_over_ranks(links_.control(), retries);
    if (!is_root()) return;
    summary_.allocator_retries += retries;
    if (tokens == 0) {
      if (!said_no_evaluation_) log_warn("no evaluation: the held-out part of the text is shorter than one sequence (data.held_out)");
      said_no_evaluation_ = true;
      return;
    }
    const double loss = loss_sum / static_cast<double>(tokens);
    if (evaluated_bytes_ == 0) evaluated_bytes_ = prepared_.workload.evaluation_bytes();
    summary_.bits_per_token = loss / std::numbers::ln2;
    summary_.bits_per_byte = loss_sum / std::numbers::ln2 / static_cast<double>(evaluated_bytes_);
    output_->on_evaluation({.step = s + 1, .loss = loss, .bits_per_byte = summary_.bits_per_byte, .tokens = tokens});
    if (observer_ != nullptr) observer_->on_evaluation(s, summary_.bits_per_token);
  }

  /// How far this run's computing is from the rate that a sweep fixed the dilation by.
  [[nodiscard]] double drift() const {
    const FlopsPerSecond fixed = network_.emulation.rank_rate;
    return fixed.value > 0 ? prepared_.rate / fixed - 1 : 0;
  }

  [[nodiscard]] std::vector<std::string> hosts_of_members() const {
    std::vector<std::string> hosts;
    for (const int rank : group().ranks) hosts.push_back(world_.hosts()[static_cast<std::size_t>(rank)]);
    return hosts;
  }

  void finish() {
    const std::vector<net::DeviceUse> devices = devices_.finish(links_.control());
    const std::vector<std::int64_t> sent = links_.all_sent();
    if (!is_root()) return;
    warn_about_wires(config_, hosts_of_members(), devices, sent);
    if (links_.heap() != nullptr && arena_.not_in_common() > Bytes{0}) {
      log_warn(fmt::format("{} of gathered units and gradients did not fit the memory that ranks have in common: collectives copied them",
                           for_people(arena_.not_in_common())));
    }
    if (!request_.trace.empty() && !last_timelines_.empty()) write_trace(request_.trace, trainer_.built().graph, last_timelines_);
    if (summary_.allocator_retries > 0) output_->add_flag("retries");
    output_->finish(sent, device_rows(devices), drift());
    if (seconds_.empty()) return;
    std::vector<double> kept(seconds_.begin() + std::min<std::ptrdiff_t>(request_.warmup_steps, std::ssize(seconds_) - 1), seconds_.end());
    const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2);
    std::nth_element(kept.begin(), middle, kept.end());
    summary_.median_step = {*middle};
  }

  net::World& world_;
  const RunRequest& request_;
  const Config& config_;
  RunObserver* observer_;
  Prepared& prepared_;
  const Network& network_;
  Links& links_;
  DeviceWatch devices_;
  step::Arena& arena_;
  step::CommonMemory common_;  // before the executor, whose buffers are there
  step::LiveExecutor executor_;
  fsdp::Trainer trainer_;
  Seconds lower_bound_{0};
  Seconds roofline_{0};
  double recomputation_ = 1;
  std::optional<RunOutput> output_;
  RunSummary summary_;
  std::vector<double> seconds_;
  std::vector<step::RankTimeline> last_timelines_;
  std::int64_t evaluated_bytes_ = 0;  // once they are counted
  bool said_no_evaluation_ = false;
};

Network decide_network(const net::World& world, const RunRequest& request, Prepared& prepared) {
  Network network;
  const int ranks = prepared.control->group().size();
  network.emulation = request.emulation ? *request.emulation : make_emulation(request.config, prepared.rate);
  network.ranks_per_node = ranks_per_node(request.config, world, ranks);
  network.nodes = (ranks + network.ranks_per_node - 1) / network.ranks_per_node;
  network.profile = make_profile(request.config, network.emulation, size_of_run(prepared.workload, network.nodes));
  check_links(request.config, world, network.profile, network.emulation.dilation, ranks);
  return network;
}

/// A record's choices, or a tune file's for these ranks; none if neither is given. Read on one rank, not collective.
std::vector<collective::Choice> chosen_collectives(const RunRequest& request, const Network& network, int ranks) {
  if (std::vector<collective::Choice> recorded = collective::parse_choices(request.choices); !recorded.empty()) return recorded;
  const std::string& path = request.config.text("collective.tune");
  if (path.empty()) return {};
  const collective::TuneKey key{
      .transport = request.config.text("net.transport"), .ranks = ranks, .ranks_per_node = network.ranks_per_node};
  std::vector<collective::Choice> choices = collective::choices_for(collective::load_tune_file(path), key);
  if (choices.empty()) {
    log_warn(fmt::format("{}: nothing was measured for {} ranks over {}, {} a node; collective.algorithm is used", path, ranks,
                         key.transport, key.ranks_per_node));
  }
  return choices;
}

/// What gathers and reductions may have in flight, all units at once: twice the parameters and twice the gradients.
Bytes buffers_of(const Workload& workload) {
  constexpr std::int64_t kCopies = 4;
  constexpr Bytes kPadding{64 << 20};
  return size_of(Dtype::Fp32) * (kCopies * workload.parameters()) + kPadding;
}

/// What emulate.memory leaves a rank.
Bytes emulated_budget(const net::World& world, const Config& config, Workload& workload, int ranks) {
  if (config.bytes("memory.budget") > Bytes{0}) {
    throw ConfigError("memory.budget and emulate.memory are both set: one of them says how much memory there is");
  }
  const int in_node = ranks_per_node(config, world, ranks);
  return emulated_memory(config, workload.model().units(), shards_of(config, world, ranks), (ranks + in_node - 1) / in_node);
}

}  // namespace

RunSummary run_training(net::World& world, const RunRequest& request, RunObserver* observer) {
  // Ranks that do not take part go through the same agreements, so that an error of any rank ends the run on all.
  const collective::Group group = group_of(world, request);
  const bool takes_part = group.index >= 0;
  step::Arena arena(request.config.bytes("memory.budget"));
  std::optional<Workload> workload;
  agree(world, [&] {
    if (!takes_part) return;
    workload.emplace(request.config, group.size(), group.index, arena);
    if (request.config.flag("emulate.memory")) arena.set_budget(emulated_budget(world, request.config, *workload, group.size()));
    choose_products(world, request, *workload, group.size());
  });
  std::optional<Prepared> prepared;
  if (takes_part) prepared.emplace(world, request, *workload, group);
  Network network;
  std::vector<collective::Choice> tuned;
  agree(world, [&] {
    if (!takes_part) return;
    network = decide_network(world, request, *prepared);
    if (group.index == 0) tuned = chosen_collectives(request, network, group.size());
  });
  LinkRequest wanted;
  if (takes_part) wanted = {.choices = agree_collectives(*prepared->control, tuned), .buffers = buffers_of(*workload)};
  Links links(world, request.config, group, network.profile, wanted);
  std::optional<TrainingRun> run;
  agree(world, [&] {
    if (takes_part) run.emplace(world, request, *prepared, network, links, arena, observer);
    if (takes_part) run->open_output();
  });
  RunSummary summary;
  if (takes_part) summary = run->run();
  world.sleep_barrier();
  return summary;
}

}  // namespace twinax::app
