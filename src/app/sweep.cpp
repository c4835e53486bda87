#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/toml.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/lanes.hpp"
#include "twinax/record/read_record.hpp"
#include "twinax/record/run_record.hpp"
#include "twinax/record/sweep_index.hpp"

#include "app/agreement.hpp"
#include "app/cluster_catalog.hpp"
#include "app/commands.hpp"
#include "app/fit.hpp"
#include "app/interval.hpp"
#include "app/launch.hpp"
#include "app/model_catalog.hpp"
#include "app/progress.hpp"
#include "app/published.hpp"
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
        control_(
            collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = net::lanes::kSweep})),
        fitted_(points_.size()),
        leaves_out_(points_.size(), false),
        times_(points_.size()),
        progress_(world.clock(), std::ssize(points_) * file.repeats_minimum, arguments.quiet || world.rank() != 0) {}

  void run() {
    agree(world_, [&] { check(); });
    scan();
    settle_emulation();
    for (std::size_t p = 0; file_.fit && p < points_.size(); ++p) settle_fit(p);
    for (std::int64_t repeat = 0; repeat < file_.repeats_maximum && !is_settled(repeat); ++repeat) {
      // Every round begins one point later, so that no point always follows the same one, and drift falls on all.
      for (std::size_t i = 0; i < points_.size(); ++i) run_point((i + static_cast<std::size_t>(repeat)) % points_.size(), repeat);
    }
    if (is_root())
      fmt::print("{} runs in {}: twinax report {}/*.h5 -o {} draws them\n", index_.runs.size(), out_.string(), out_.string(),
                 out_.string());
  }

 private:
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
      (void)whole_config_of(point, least());
      if (!file_.fit) continue;
      const Config largest = whole_config_of(point, file_.fit->maximum);
      const std::int64_t share = largest.integer("train.global_batch") / ranks;
      if (file_.fit->key == "train.batch" && file_.fit->maximum > share) {
        throw ConfigError(
            fmt::format("{}: sweep.fit goes to train.batch = {}, but of train.global_batch = {} a rank of {} has {} sequences: "
                        "fit train.global_batch with per_rank = [\"train.global_batch\"], or set a larger one",
                        file_.path, file_.fit->maximum, largest.integer("train.global_batch"), ranks, share));
      }
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
              .warmup_steps = file_.warmup_steps,
              .fit = file_.fit ? file_.fit->key : ""};
    for (const Axis& axis : file_.axes) index_.axes.push_back({.key = axis.key, .values = axis.values});
    for (const Point& point : points_) index_.points.push_back(to_toml(file_, point));
    index_.published = index_rows_of(file_);
    if (!is_root()) return;
    read_trials_before();
    const record::Environment here = record::this_environment();
    const std::string hosts = record::describe_hosts(world_.hosts());
    for (std::size_t p = 0; p < points_.size(); ++p) {
      for (std::int64_t repeat = 0; repeat < file_.repeats_maximum; ++repeat) {
        const std::string path = path_of(p, repeat).string();
        if (!record::is_complete_record(path)) continue;
        const record::RecordFacts facts = record::read_record(path);
        if (facts.flags.find("out_of_budget") != std::string::npos) continue;  // a result of its point, which is found again
        const std::optional<std::int64_t> fitted = fitted_in(facts);
        const bool same = (!file_.fit || (fitted && fitted_[p].value_or(*fitted) == *fitted)) &&
                          facts.config_toml == config_at(p, repeat, fitted).to_toml() &&
                          facts.environment.git_revision == here.git_revision && facts.environment.compiler == here.compiler &&
                          facts.environment.cpu == here.cpu &&
                          (facts.environment.hosts == hosts || ranks_of(points_[p], world_.size()) < world_.size());
        if (same) recorded_.emplace(path, facts);
        if (same && fitted) fitted_[p] = fitted;
      }
    }
  }

  /// A point's configuration, with the catalog's model where it names one.
  [[nodiscard]] Config whole_config_of(const Point& point, std::optional<std::int64_t> fitted) const {
    Config config = config_of(file_, point, ranks_of(point, world_.size()), fitted);
    take_catalog_model(config);
    take_catalog_cluster(config);
    return config;
  }

  /// The trials by which a sweep that is continued found what fits.
  void read_trials_before() {
    try {
      record::SweepIndex before = record::read_sweep_index((out_ / "index.h5").string());
      if (before.fit == index_.fit) trials_before_ = std::move(before.trials);
    } catch (const Error&) {
      trials_before_.clear();  // there is none, or none that can be read: it is written anew
    }
  }

  /// What the key that is to fit begins with; none if there is no such key.
  [[nodiscard]] std::optional<std::int64_t> least() const { return file_.fit ? std::optional(file_.fit->minimum) : std::nullopt; }

  /// The value that a recorded run had for the key that is to fit.
  [[nodiscard]] std::optional<std::int64_t> fitted_in(const record::RecordFacts& facts) const {
    if (!file_.fit) return std::nullopt;
    Config config;
    try {
      config.apply(parse_toml(facts.config_toml, "a record's config"));
    } catch (const Error&) {
      return std::nullopt;  // an earlier program's keys
    }
    const std::int64_t value = config.integer(file_.fit->key);
    return std::ranges::find(file_.per_rank, file_.fit->key) == file_.per_rank.end() ? value : value / facts.environment.ranks;
  }

  [[nodiscard]] Config config_at(std::size_t point, std::int64_t repeat, std::optional<std::int64_t> fitted) const {
    Config config = whole_config_of(points_[point], fitted);
    config.set("record.path", path_of(point, repeat).string(), "the sweep");
    return config;
  }

  [[nodiscard]] RunRequest request_of(std::size_t point, std::int64_t repeat, std::optional<std::int64_t> fitted) const {
    RunRequest request;
    request.config = config_at(point, repeat, fitted);
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
    const auto ranks = [&](const Point& point) { return ranks_of(point, world_.size()); };
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(points_, {}, ranks) - points_.begin());
    const RunRequest request = request_of(largest, 0, std::nullopt);  // where a key is to fit, with the file's own value of it
    FlopsPerSecond rate = measure_rate(world_, request);
    control_->broadcast(std::as_writable_bytes(std::span(&rate, 1)), 0, net::Purpose::Control);  // ranks outside the point have none
    agree(world_, [&] { emulation_ = make_emulation(request.config, rate); });
    if (recorded > 0) emulation_->dilation = recorded;
    // What a rank computes at while the dilation holds; runs measure their drift against it.
    if (emulation_->emulated_rate.value > 0) emulation_->rank_rate = emulation_->emulated_rate * (1 / emulation_->dilation);
    if (is_root() && emulation_->accelerator != "none") {
      log_info(fmt::format("a rank computes {}; 1 s of {} is {} here", for_people(rate), emulation_->accelerator,
                           for_people(Seconds{emulation_->dilation})));
    }
  }

  /// Runs as requested; a budget that doesn't hold it is a result. All ranks return what rank 0, which takes part in every run, has seen.
  Trial run_within_budget(const RunRequest& request, RunSummary& summary) {
    Trial trial;
    try {
      summary = run_training(world_, request, nullptr);
      trial.out_of_memory = summary.out_of_budget;
    } catch (const AgreedOutOfBudget& error) {
      trial.out_of_memory = error.what();
    }
    trial.retries = summary.allocator_retries;
    share(trial.out_of_memory);
    control_->broadcast(std::as_writable_bytes(std::span(&trial.retries, 1)), 0, net::Purpose::Control);
    return trial;
  }

  void write_index() const { record::write_sweep_index((out_ / "index.h5").string(), index_); }

  /// What came of a trial, in the index and on the terminal; on rank 0.
  void note(std::size_t point, const Trial& trial) {
    if (!is_root()) return;
    const std::string with = file_.fit ? fmt::format(" {}={}", file_.fit->key, trial.value) : "";
    log_info(fmt::format("{}{}: {}{}", to_line(points_[point]), with, outcome_of(trial),
                         trial.out_of_memory.empty() ? "" : ": " + trial.out_of_memory));
    index_.trials.push_back({.point = to_toml(file_, points_[point]),
                             .value = trial.value,
                             .retries = trial.retries,
                             .outcome = outcome_of(trial),
                             .reason = trial.out_of_memory});
    write_index();
  }

  /// Finds the value of the key that is to fit with which the point runs: that of its records, else by trials.
  void settle_fit(std::size_t point) {
    std::int64_t known = fitted_[point].value_or(0);
    control_->broadcast(std::as_writable_bytes(std::span(&known, 1)), 0, net::Purpose::Control);
    if (known > 0) {
      fitted_[point] = known;
      std::ranges::copy_if(trials_before_, std::back_inserter(index_.trials),
                           [&](const record::IndexTrial& trial) { return trial.point == to_toml(file_, points_[point]); });
      return;
    }
    const FitRange range{.minimum = file_.fit->minimum,
                         .maximum = file_.fit->maximum,
                         .precision = file_.fit->precision,
                         .guess = point > 0 ? fitted_[point - 1] : std::nullopt};
    const Fit fit = find_fit(range, [&](std::int64_t value) {
      RunRequest request = request_of(point, 0, value);
      request.config.set("record.path", "", "a trial");
      request.config.set("train.steps", std::to_string(file_.fit->steps), "a trial");
      request.config.set("train.evaluate_every", "0", "a trial");
      request.measurements = 1;
      RunSummary summary;
      Trial trial = run_within_budget(request, summary);
      trial.value = value;
      note(point, trial);
      return trial;
    });
    fitted_[point] = fit.value;
    leaves_out_[point] = !fit.value;
  }

  void run_point(std::size_t point, std::int64_t repeat) {
    if (leaves_out_[point]) return;
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
      RunSummary summary;
      Trial trial = run_within_budget(request_of(point, repeat, fitted_[point]), summary);
      if (!trial.out_of_memory.empty()) {
        trial.value = fitted_[point].value_or(-1);
        note(point, trial);
        leaves_out_[point] = true;
        return;
      }
      if (trial.retries > 0) warn_of_retries(point, repeat, trial.retries);
      seconds = summary.median_step.value;
      if (is_root()) choices_ = summary.choices;
      if (is_root() && index_.stands_for.empty()) index_.stands_for = summary.stands_for;
      share_choices();
    }
    if (!is_root()) return;
    times_[point].push_back(seconds);
    index_.runs.push_back({.point = to_toml(file_, points_[point]), .repeat = repeat, .file = path.filename().string()});
    write_index();
    progress_.show(std::ssize(index_.runs), fmt::format("round {} {}: {} a step{}", repeat + 1, to_line(points_[point]),
                                                        for_people(Seconds{seconds}), is_known != 0 ? " (recorded before)" : ""));
  }

  /// A run that was to fit its memory and had to wait for some: its record is flagged, its time is not that of a batch that fits.
  void warn_of_retries(std::size_t point, std::int64_t repeat, std::int64_t retries) const {
    if (!is_root() || !file_.fit) return;
    log_warn(fmt::format("{} {}={}, run {}: fitted in its trial, but had to wait for memory {} time{} in this run (flag retries)",
                         to_line(points_[point]), file_.fit->key, fitted_[point].value_or(0), repeat + 1, retries,
                         retries == 1 ? "" : "s"));
  }

  /// Rank 0's choices become everyone's: ranks outside a point have made none.
  void share_choices() { share(choices_); }

  void share(std::string& text) {
    std::uint64_t size = text.size();
    control_->broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, net::Purpose::Control);
    text.resize(size);
    control_->broadcast(std::as_writable_bytes(std::span(text)), 0, net::Purpose::Control);
  }

  /// Whether enough rounds have been run; rank 0 decides.
  bool is_settled(std::int64_t rounds) {
    std::uint8_t settled = 0;
    if (is_root() && rounds >= file_.repeats_minimum) {
      settled = 1;
      for (const std::vector<double>& times : times_) {
        if (times.empty()) continue;  // runs out of memory
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
  std::vector<record::IndexTrial> trials_before_;    // rank 0 only
  std::vector<std::optional<std::int64_t>> fitted_;  // by point
  std::vector<bool> leaves_out_;                     // by point: whether its memory doesn't hold it
  std::vector<std::vector<double>> times_;           // by point; rank 0 only
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
