#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/record/read_record.hpp"
#include "twinax/record/run_record.hpp"
#include "twinax/record/sweep_index.hpp"

#include "app/agreement.hpp"
#include "app/commands.hpp"
#include "app/interval.hpp"
#include "app/launch.hpp"
#include "app/progress.hpp"
#include "app/sweep_file.hpp"
#include "app/training_run.hpp"

namespace twinax::app {
namespace {

/// A sweep under way; all ranks hold the same state, rank 0 decides.
class Sweep {
 public:
  Sweep(net::World& world, const SweepFile& file, const SweepArguments& arguments, std::string command)
      : world_(world),
        file_(file),
        command_(std::move(command)),
        out_(arguments.out.empty() ? std::filesystem::path("results") / file.name : std::filesystem::path(arguments.out)),
        points_(points_of(file)),
        control_(collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = kLane})),
        times_(points_.size()),
        progress_(world.clock(), std::ssize(points_) * file.repeats_minimum, arguments.quiet || world.rank() != 0) {}

  void run() {
    agree(world_, [&] { check(); });
    scan();
    settle_emulation();
    for (std::int64_t repeat = 0; repeat < file_.repeats_maximum && !is_settled(repeat); ++repeat) {
      // Every round begins one point later, so that no point always follows the same one, and drift falls on all.
      for (std::size_t i = 0; i < points_.size(); ++i) run_point((i + static_cast<std::size_t>(repeat)) % points_.size(), repeat);
    }
    if (is_root())
      fmt::print("{} runs in {}: twinax report {}/*.h5 -o {} draws them\n", index_.runs.size(), out_.string(), out_.string(),
                 out_.string());
  }

 private:
  static constexpr std::uint8_t kLane = 3;

  [[nodiscard]] bool is_root() const { return world_.rank() == 0; }

  [[nodiscard]] std::filesystem::path path_of(std::size_t point, std::int64_t repeat) const {
    return out_ / fmt::format("{}-{}.h5", to_slug(points_[point]), repeat);
  }

  /// Refuses what would fail later, before anything is measured.
  void check() {
    for (const Point& point : points_) {
      const int ranks = ranks_of(point, world_.size());
      if (ranks > world_.size()) {
        throw ConfigError(
            fmt::format("{}: the axis ranks asks for {} ranks, but {} run: mpirun -n {}", file_.path, ranks, world_.size(), ranks));
      }
      (void)config_of(file_, point, ranks);
    }
    if (is_root()) record::check_record_path(path_of(0, 0).string(), true);
  }

  /// Finds what is already recorded by this build, on these hosts, with this config; on rank 0.
  void scan() {
    index_ = {.name = file_.name,
              .title = file_.title,
              .baseline = to_toml(file_, file_.baseline),
              .repeats_minimum = file_.repeats_minimum,
              .repeats_maximum = file_.repeats_maximum,
              .warmup_steps = file_.warmup_steps};
    for (const Axis& axis : file_.axes) index_.axes.push_back({.key = axis.key, .values = axis.values});
    for (const Point& point : points_) index_.points.push_back(to_toml(file_, point));
    if (!is_root()) return;
    const record::Environment here = record::this_environment();
    const std::string hosts = record::describe_hosts(world_.hosts());
    for (std::size_t p = 0; p < points_.size(); ++p) {
      for (std::int64_t repeat = 0; repeat < file_.repeats_maximum; ++repeat) {
        const std::string path = path_of(p, repeat).string();
        if (!record::is_complete_record(path)) continue;
        const record::RecordFacts facts = record::read_record(path);
        const bool same = facts.config_toml == config_at(p, repeat).to_toml() && facts.environment.git_revision == here.git_revision &&
                          facts.environment.compiler == here.compiler && facts.environment.cpu == here.cpu &&
                          (facts.environment.hosts == hosts || ranks_of(points_[p], world_.size()) < world_.size());
        if (same) recorded_.emplace(path, facts);
      }
    }
  }

  [[nodiscard]] Config config_at(std::size_t point, std::int64_t repeat) const {
    Config config = config_of(file_, points_[point], ranks_of(points_[point], world_.size()));
    config.set("record.path", path_of(point, repeat).string(), "the sweep");
    return config;
  }

  [[nodiscard]] RunRequest request_of(std::size_t point, std::int64_t repeat) const {
    RunRequest request;
    request.config = config_at(point, repeat);
    request.command = command_;
    request.ranks = ranks_of(points_[point], world_.size());
    request.emulation = emulation_;
    request.choices = product_choices(choices_);  // points differ in ranks and networks
    request.point = to_toml(file_, points_[point]);
    request.repeat = repeat;
    request.warmup_steps = file_.warmup_steps;
    return request;
  }

  /// Fixes the dilation for all points: that of the records that are continued, else measured now with all ranks computing.
  void settle_emulation() {
    double recorded = recorded_.empty() ? 0 : recorded_.begin()->second.environment.dilation;
    control_->broadcast(std::as_writable_bytes(std::span(&recorded, 1)), 0, net::Purpose::Control);
    const RunRequest request = request_of(0, 0);
    const FlopsPerSecond rate = measure_rate(world_, request);
    agree(world_, [&] { emulation_ = make_emulation(request.config, rate); });
    if (recorded > 0) emulation_->dilation = recorded;
    // What a rank computes at while the dilation holds; runs measure their drift against it.
    if (emulation_->emulated_rate.value > 0) emulation_->rank_rate = emulation_->emulated_rate * (1 / emulation_->dilation);
    if (is_root() && emulation_->accelerator != "none") {
      log_info(fmt::format("a rank computes {}; 1 s of {} is {} here", for_people(rate), emulation_->accelerator,
                           for_people(Seconds{emulation_->dilation})));
    }
  }

  void run_point(std::size_t point, std::int64_t repeat) {
    const std::filesystem::path path = path_of(point, repeat);
    const auto known = recorded_.find(path.string());
    std::uint8_t is_known = known != recorded_.end() ? 1 : 0;
    control_->broadcast(std::as_writable_bytes(std::span(&is_known, 1)), 0, net::Purpose::Control);
    double seconds = 0;
    if (is_known != 0) {
      if (is_root()) seconds = known->second.median_step_seconds;
      if (is_root()) choices_ = known->second.choices;
      if (is_root() && index_.stands_for.empty()) index_.stands_for = known->second.stands_for;
      share_choices();
    } else {
      const RunSummary summary = run_training(world_, request_of(point, repeat), nullptr);
      if (!summary.out_of_budget.empty()) throw AgreedError(summary.out_of_budget);
      seconds = summary.median_step.value;
      if (is_root()) choices_ = summary.choices;
      if (is_root() && index_.stands_for.empty()) index_.stands_for = summary.stands_for;
      share_choices();
    }
    if (!is_root()) return;
    times_[point].push_back(seconds);
    index_.runs.push_back({.point = to_toml(file_, points_[point]), .repeat = repeat, .file = path.filename().string()});
    record::write_sweep_index((out_ / "index.h5").string(), index_);
    progress_.show(std::ssize(index_.runs), fmt::format("round {} {}: {} a step{}", repeat + 1, to_line(points_[point]),
                                                        for_people(Seconds{seconds}), is_known != 0 ? " (recorded before)" : ""));
  }

  /// Rank 0's choices become everyone's: ranks outside a point have made none.
  void share_choices() {
    std::uint64_t size = choices_.size();
    control_->broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, net::Purpose::Control);
    choices_.resize(size);
    control_->broadcast(std::as_writable_bytes(std::span(choices_)), 0, net::Purpose::Control);
  }

  /// Whether enough rounds have been run; rank 0 decides.
  bool is_settled(std::int64_t rounds) {
    std::uint8_t settled = 0;
    if (is_root() && rounds >= file_.repeats_minimum) {
      settled = 1;
      for (const std::vector<double>& times : times_) {
        const Interval interval = median_interval(times);
        if (file_.precision > 0 && (interval.high - interval.low) / 2 > file_.precision * interval.median) settled = 0;
      }
    }
    control_->broadcast(std::as_writable_bytes(std::span(&settled, 1)), 0, net::Purpose::Control);
    return settled != 0;
  }

  net::World& world_;
  const SweepFile& file_;
  std::string command_;
  std::filesystem::path out_;
  std::vector<Point> points_;
  std::unique_ptr<collective::Collectives> control_;
  std::map<std::string, record::RecordFacts> recorded_;  // by path; rank 0 only
  std::optional<Emulation> emulation_;
  std::string choices_;
  record::SweepIndex index_;
  std::vector<std::vector<double>> times_;  // by point; rank 0 only
  Progress progress_;
};

}  // namespace

int sweep_command(const SweepArguments& arguments, const Invocation& invocation) {
  SweepFile file;
  const auto load = [&] {
    file = read_sweep(arguments.file, arguments.set);
    return file.config;
  };
  return launch(arguments, invocation, load, [&](net::World& world) {
    Sweep(world, file, arguments, invocation.text()).run();
    return 0;
  });
}

}  // namespace twinax::app
