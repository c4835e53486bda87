// Writes records as a run would, for the tests of readers and for trying figures:
//   write_records demo DIRECTORY     a sweep over networks and limiters, with its index
//   write_records faulty DIRECTORY   the same with what a report must name: too few runs, oversubscription, drift, an incomplete run
//   write_records fit DIRECTORY      the same of batches that fit: by trials, of which one point has none that fits
//   write_records scaling DIRECTORY  a sweep over networks and numbers of ranks
//   write_records single FILE        one run with evaluations
//   write_records bench FILE         the figures of a benchmark: two algorithms of a collective, and messages
//   write_records grow FILE          a run that goes on until it is killed; prints the steps flushed, a line each
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/record/run_record.hpp"
#include "twinax/record/sweep_index.hpp"

namespace {

using namespace twinax::record;

constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kUnits = 6;
constexpr double kDilation = 18;

struct NetworkRow {
  const char* name;
  double transfer_seconds;  // of one unit, in the cluster's time
};
constexpr NetworkRow kNetworks[]{{"infiniband-hdr", 0.004}, {"ethernet-100g", 0.011}, {"ethernet-25g", 0.040}};

struct Shape {
  NetworkRow network;
  bool has_window = true;
  std::int64_t ranks = 2;
  std::int64_t repeat = 0;
};

/// A number in [0, 1) that depends on its place only.
double noise(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kPrime1 = 2654435761U, kPrime2 = 40503U;
  const std::uint32_t mixed = (a * kPrime1) ^ ((b + 17U) * kPrime2 * kPrime1);
  return static_cast<double>((mixed >> 8) & 0xFFFFU) / 65536.0;
}

struct StepTimes {
  double compute = 0, exposed = 0, hidden = 0, bound = 0;
  [[nodiscard]] double total() const { return compute + exposed; }
};

StepTimes times_of(const Shape& shape, std::int64_t step) {
  constexpr double kForward = 0.010;  // of one unit
  const double jitter = 1 + 0.02 * noise(static_cast<std::uint32_t>(shape.repeat), static_cast<std::uint32_t>(step));
  const double compute = 3 * kForward * kUnits * jitter * kDilation;
  const double traffic = 3 * shape.network.transfer_seconds * kUnits * (shape.has_window ? 1.0 : 1.03) * kDilation *
                         (shape.ranks == 1 ? 0 : 2.0 * static_cast<double>(shape.ranks - 1) / static_cast<double>(shape.ranks));
  const double hidden = std::min(traffic * 0.9, compute * 0.8);
  return {compute, (traffic - hidden) * jitter, hidden, std::max(compute, traffic) * 0.97};
}

/// A step's operations with all of its traffic on one lane in order, as a run issues them.
class MadeTimeline {
 public:
  MadeTimeline(const Shape& shape, std::int64_t step, double begin)
      : step_(step), begin_(begin), limit_(shape.has_window ? 2 : 2 * kUnits), transfer_(shape.network.transfer_seconds * kDilation) {}

  std::vector<TimelineRow> of_rank(std::int64_t rank) {
    rows_.clear();
    released_.clear();
    compute_free_ = collective_free_ = begin_;
    const double forward = times_of({.network = kNetworks[0]}, step_).compute / (3 * kUnits) * (1 + 0.05 * static_cast<double>(rank));
    double gathered = gather(rank, 0);
    for (std::int64_t use = 0; use < 2 * kUnits; ++use) {
      const double mine = gathered;
      if (use + 1 < 2 * kUnits) gathered = gather(rank, use + 1);
      const bool is_backward = use >= kUnits;
      TimelineRow row = at(rank, "compute", is_backward ? "backward" : "forward", use);
      row.begin_seconds = std::max(compute_free_, mine);
      row.end_seconds = compute_free_ = row.begin_seconds + forward * (is_backward ? 2 : 1);
      row.taken_seconds = row.begin_seconds;
      row.gather_credits_given = 1;
      row.memory_given_bytes = kUnitBytes;
      row.reduction_credits_taken = is_backward ? 1 : 0;
      row.memory_taken_bytes = is_backward ? kUnitBytes : 0;
      rows_.push_back(row);
      released_.push_back(row.end_seconds);
      if (is_backward) reduce(rank, use, row.end_seconds);
    }
    return rows_;
  }

 private:
  static constexpr std::int64_t kUnitBytes = 1 << 20;

  [[nodiscard]] TimelineRow at(std::int64_t rank, const char* lane, const std::string& kind, std::int64_t use) const {
    const std::int64_t unit = use < kUnits ? use : 2 * kUnits - 1 - use;
    return {.rank = rank, .lane = lane, .op = fmt::format("{} h.{}", kind, unit), .unit = unit, .step = step_, .kind = kind};
  }

  /// Returns when the unit is there.
  double gather(std::int64_t rank, std::int64_t use) {
    TimelineRow row = at(rank, "collective", "gather", use);
    row.taken_seconds = use < limit_ ? begin_ : released_[static_cast<std::size_t>(use - limit_)];
    row.gather_credits_taken = 1;
    row.memory_taken_bytes = kUnitBytes;
    return communicate(row, row.taken_seconds);
  }

  void reduce(std::int64_t rank, std::int64_t use, double ready) {
    TimelineRow row = at(rank, "collective", "reduce", use);
    row.taken_seconds = ready;
    row.reduction_credits_given = 1;
    row.memory_given_bytes = kUnitBytes;
    communicate(row, ready);
  }

  double communicate(TimelineRow row, double ready) {
    row.begin_seconds = std::max(collective_free_, ready);
    row.end_seconds = collective_free_ = row.begin_seconds + transfer_;
    row.bytes = kUnitBytes / 2;
    rows_.push_back(row);
    return row.end_seconds;
  }

  std::int64_t step_;
  double begin_;
  std::int64_t limit_;
  double transfer_;
  double compute_free_ = 0;
  double collective_free_ = 0;
  std::vector<double> released_;  // by use
  std::vector<TimelineRow> rows_;
};

StepRow row_of(const Shape& shape, std::int64_t step) {
  const StepTimes times = times_of(shape, step);
  StepRow row;
  row.step = step;
  row.seconds = times.total() * (step == 0 ? 1.5 : 1);
  row.tokens = 4096 * shape.ranks;
  row.loss = 5.5 / (1 + 0.1 * static_cast<double>(step));
  row.learning_rate = 1e-3;
  row.gradient_norm = 1;
  row.flops = 1e12;
  row.bytes_between_nodes = 100'000'000;
  row.compute_seconds = times.compute;
  row.exposed_communication_seconds = times.exposed;
  row.hidden_communication_seconds = times.hidden;
  row.lower_bound_seconds = times.bound;
  row.roofline_seconds = times.bound * 0.9;
  row.memory_peak_bytes = 64 << 20;
  row.in_flight_peak = shape.has_window ? 2 : kUnits;
  row.in_flight_bytes_peak = row.in_flight_peak << 20;
  row.reductions_peak = 1;
  return row;
}

std::vector<RankRow> ranks_of(const StepRow& row, std::int64_t ranks) {
  return std::vector<RankRow>(static_cast<std::size_t>(ranks), {.seconds = row.seconds,
                                                                .compute_seconds = row.compute_seconds,
                                                                .waiting_seconds = 0.01,
                                                                .collective_exposed_seconds = row.exposed_communication_seconds,
                                                                .collective_hidden_seconds = row.hidden_communication_seconds,
                                                                .memory_peak_bytes = row.memory_peak_bytes});
}

RecordHead head_of(const Shape& shape, const std::string& name) {
  RecordHead head;
  head.name = name;
  head.command = "write_records \"" + name + "\"";
  head.config_toml = "[train]\nsteps = 5\n[emulate]\nparameters = 1.3e9\n";
  head.environment = this_environment();
  head.environment.ranks = shape.ranks;
  head.environment.transport = "loopback";
  head.environment.network = shape.network.name;
  head.environment.accelerator = "a100";
  head.environment.mpi = "Open MPI 4.1.4";
  head.environment.dilation = kDilation;
  head.environment.model_factor = 1.3e9 / 217'000;
  head.purposes = {"gather", "reduce"};
  head.choices = "matmul 128 64 64 = cblas\n";
  head.stands_for = fmt::format("{} nodes with 1 a100 each, 4096 tokens a node and step, a model of 1.3 billion parameters", shape.ranks);
  head.parameters = 217'000;
  head.warmup_steps = 1;
  return head;
}

void write_steps(RunRecord& record, const Shape& shape, std::int64_t steps) {
  double now = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const StepRow row = row_of(shape, step);
    record.append_step(row, ranks_of(row, shape.ranks));
    for (std::int64_t rank = 0; step == kSteps - 1 && rank < shape.ranks; ++rank)
      record.append_timeline(MadeTimeline(shape, step, now).of_rank(rank));
    now += row.seconds;
    record.flush();
  }
}

/// What is wrong with a run of the faulty sweep.
struct Fault {
  bool is_missing = false;  // never made
  bool is_incomplete = false;
  std::string flags{};
  double drift = 0;
};

Fault fault_of(const Shape& shape) {
  const std::string_view network = shape.network.name;
  Fault fault;
  fault.is_missing = network == "ethernet-100g" && !shape.has_window && shape.repeat == 5;
  fault.is_incomplete = network == "ethernet-100g" && !shape.has_window && shape.repeat == 4;
  if (network == "ethernet-25g" && !shape.has_window) fault.flags = "oversubscribed";
  if (network == "ethernet-25g" && shape.has_window && shape.repeat == 2) fault.drift = -0.08;
  return fault;
}

IndexRun write_run(const std::string& folder, const Shape& shape, const std::string& slug, const std::string& point,
                   const Fault& fault = {}) {
  const std::string file = fmt::format("{}_{}.h5", slug, shape.repeat);
  RecordHead head = head_of(shape, slug);
  head.point = point;
  head.repeat = shape.repeat;
  head.flags = fault.flags;
  RunRecord record(folder + "/" + file, head, true);
  write_steps(record, shape, kSteps);
  record.set_dilation_drift(fault.drift);
  if (!fault.is_incomplete) record.close();
  return {point, shape.repeat, file};
}

void write_demo(const std::string& folder, bool is_faulty) {
  SweepIndex index{.name = "demo", .title = "The same sharded training over InfiniBand and over Ethernet"};
  index.axes = {{"net.profile", {}}, {"fsdp.limiter", {"window", "none"}}};
  index.baseline = "\"net.profile\" = \"infiniband-hdr\"\n\"fsdp.limiter\" = \"window\"\n";
  index.repeats_minimum = index.repeats_maximum = 6;
  index.warmup_steps = 1;
  index.stands_for = head_of({.network = kNetworks[0]}, "").stands_for;
  for (const NetworkRow& network : kNetworks) index.axes[0].values.emplace_back(network.name);
  for (std::int64_t repeat = 0; repeat < index.repeats_maximum; ++repeat) {
    for (const NetworkRow& network : kNetworks) {
      for (const std::string limiter : {"window", "none"}) {
        const std::string point = fmt::format("\"net.profile\" = \"{}\"\n\"fsdp.limiter\" = \"{}\"\n", network.name, limiter);
        if (repeat == 0) index.points.push_back(point);
        const Shape shape{.network = network, .has_window = limiter == "window", .repeat = repeat};
        const Fault fault = is_faulty ? fault_of(shape) : Fault{};
        if (!fault.is_missing) index.runs.push_back(write_run(folder, shape, fmt::format("{}_{}", network.name, limiter), point, fault));
      }
    }
  }
  write_sweep_index(folder + "/index.h5", index);
}

void write_fit(const std::string& folder) {
  SweepIndex index{.name = "fit", .title = "How large a batch fits"};
  index.axes = {{"fsdp.limiter", {"window", "none"}}};
  index.repeats_minimum = index.repeats_maximum = 6;
  index.fit = "train.batch";
  const std::string window = "\"fsdp.limiter\" = \"window\"\n", none = "\"fsdp.limiter\" = \"none\"\n";
  index.points = {window, none};
  for (std::int64_t repeat = 0; repeat < 6; ++repeat)
    index.runs.push_back(write_run(folder, {.network = kNetworks[0], .repeat = repeat}, "window", window));
  index.trials = {{window, 8, 0, "fits"},
                  {window, 36, 0, "fits"},
                  {window, 50, 3, "retries"},
                  {none, 8, 0, "out of memory", "\"h.0\" takes 3.0 MiB more"}};
  index.published = {{.name = "then", .label = "as it was", .source = "a page", .where = window, .efficiency = 0.9, .batch = 50}};
  write_sweep_index(folder + "/index.h5", index);
}

void write_scaling(const std::string& folder) {
  SweepIndex index{.name = "scaling", .title = "Weak scaling"};
  index.axes = {{"net.profile", {"infiniband-hdr", "ethernet-25g"}}, {"ranks", {"1", "2", "4"}}};
  index.baseline = "\"net.profile\" = \"infiniband-hdr\"\nranks = 1\n";
  index.repeats_minimum = index.repeats_maximum = 6;
  index.warmup_steps = 1;
  for (std::int64_t repeat = 0; repeat < index.repeats_maximum; ++repeat) {
    for (const NetworkRow& network : {kNetworks[0], kNetworks[2]}) {
      for (const std::int64_t ranks : {1, 2, 4}) {
        const std::string point = fmt::format("\"net.profile\" = \"{}\"\nranks = {}\n", network.name, ranks);
        if (repeat == 0) index.points.push_back(point);
        index.runs.push_back(
            write_run(folder, {.network = network, .ranks = ranks, .repeat = repeat}, fmt::format("{}_r{}", network.name, ranks), point));
      }
    }
  }
  write_sweep_index(folder + "/index.h5", index);
}

void write_single(const std::string& file) {
  const Shape shape{.network = kNetworks[1]};
  constexpr std::int64_t kLong = 60;
  RunRecord record(file, head_of(shape, "single"), true);
  write_steps(record, shape, kLong);
  for (std::int64_t step = 20; step <= kLong; step += 20) {
    const double loss = 5.5 / (1 + 0.1 * static_cast<double>(step));
    record.append_evaluation({step, loss, loss / std::log(2.0), 65536});
  }
  record.set_links(std::vector<std::int64_t>{0, 0, 7, 8, 9, 10, 0, 0});
  record.close();
}

void write_bench(const std::string& file) {
  RecordHead head = head_of({.network = kNetworks[2]}, "bench");
  head.kind = "bench";
  head.environment.transport = "mpi";
  head.environment.accelerator = "";
  RunRecord record(file, head, true);
  const auto add = [&](const char* test, const char* algorithm, std::int64_t bytes, double seconds) {
    const double rate = static_cast<double>(bytes) / seconds;
    record.append_bench({.test = test,
                         .algorithm = algorithm,
                         .type = "fp32",
                         .bytes = bytes,
                         .count = bytes / 4,
                         .iterations = 10,
                         .seconds = seconds,
                         .seconds_low = seconds * 0.9,
                         .seconds_high = seconds * 1.2,
                         .bytes_per_second = rate,
                         .bus_bytes_per_second = rate / 2,
                         .bound_seconds = seconds / 2,
                         .wrong = 0});
  };
  for (const std::int64_t bytes : {1 << 10, 1 << 16, 1 << 22}) {
    add("all_gather", "ring", bytes, 1e-5 + 1e-9 * static_cast<double>(bytes));
    add("all_gather", "native", bytes, 2e-5 + 5e-10 * static_cast<double>(bytes));
  }
  add("latency", "", 1, 1e-6);
  add("latency", "", 1024, 2e-6);
  add("bandwidth", "", 1 << 16, 1e-5);
  record.close();
}

void grow(const std::string& file) {
  const Shape shape{.network = kNetworks[0]};
  RunRecord record(file, head_of(shape, "grow"), true);
  for (std::int64_t step = 0;; ++step) {
    const StepRow row = row_of(shape, step);
    record.append_step(row, ranks_of(row, shape.ranks));
    record.flush();
    std::printf("%d\n", static_cast<int>(step + 1));
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  try {
    if (what == "demo" || what == "faulty") write_demo(argv[2], what == "faulty");
    if (what == "fit") write_fit(argv[2]);
    if (what == "scaling") write_scaling(argv[2]);
    if (what == "single") write_single(argv[2]);
    if (what == "bench") write_bench(argv[2]);
    if (what == "grow") grow(argv[2]);
  } catch (const twinax::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
