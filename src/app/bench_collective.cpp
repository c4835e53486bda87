#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/base/write_file.hpp"

#include "app/agreement.hpp"
#include "app/bench_algorithms.hpp"
#include "app/bench_session.hpp"
#include "app/bench_sizes.hpp"
#include "app/bench_tune.hpp"
#include "app/commands.hpp"
#include "app/launch.hpp"

namespace twinax::app {
namespace {

constexpr std::array kColumns{
    BenchColumn{"collective", "collective", "what is done; broadcast is from rank 0, all_gather in place", 14, true},
    BenchColumn{"algorithm", "algorithm", "how; native is MPI's own", 13, true},
    BenchColumn{"size [B]", "size_bytes", "bytes of the whole buffer, all ranks' pieces together, as on the wire", 10},
    BenchColumn{"count", "count", "elements of it", 10},
    BenchColumn{"type", "type", "of elements on the wire", 5, true},
    BenchColumn{"time [us]", "time_us", "median over iterations, each as long as its slowest rank takes", 10},
    BenchColumn{"low", "time_low_us", "lower end of the median's 95% interval"},
    BenchColumn{"high", "time_high_us", "upper end of it"},
    BenchColumn{"algbw [GB/s]", "algbw_GB_per_s", "size over time", 12},
    BenchColumn{
        "busbw [GB/s]", "busbw_GB_per_s",
        "algbw times what must leave each node of the whole: (n-1)/n for all_gather and reduce_scatter, 2(n-1)/n for all_reduce, 1 for "
        "broadcast, of n nodes (ranks of one node share its link), or, where there is one node, of its n ranks: compares with the rate of "
        "a link",
        12},
    BenchColumn{"#wrong", "wrong", "elements, on all ranks, that differ from the exact result; - if not checked", 6},
    BenchColumn{
        "% bound", "share_of_bound_percent",
        "the least time over the measured: what must pass the emulated network's links, or, unshaped in a host, copying the bytes that "
        "a rank receives in memory while all ranks do, or, between hosts of equally many ranks, what must enter each at the speed of "
        "net.device",
        7},
    BenchColumn{"iterations", "iterations", "of which the median is taken", 10},
    BenchColumn{"repeats", "operations_per_iteration", "operations of an iteration, one after the other, if one takes less than 200 us",
                7}};

constexpr std::array<std::string_view, 12> kShown{"collective",     "algorithm",      "size_bytes",  "count",
                                                  "type",           "time_us",        "time_low_us", "time_high_us",
                                                  "algbw_GB_per_s", "busbw_GB_per_s", "wrong",       "share_of_bound_percent"};

/// What is asked for, checked.
struct CollectiveTests {
  std::vector<BenchCollective> collectives;
  std::vector<std::string> algorithms;
  std::vector<Bytes> sizes;
  Dtype wire = Dtype::Fp32;
};

/// One algorithm of a collective, and what it took.
struct Contender {
  std::string name;
  collective::Collectives* collectives;
  BenchPlan plan{};
  std::vector<double> seconds{};
  std::int64_t wrong = -1;
};

/// The measurements of `bench collective` on one rank.
class CollectiveBench {
 public:
  CollectiveBench(BenchSession& session, const CollectiveTests& tests)
      : session_(session),
        tests_(tests),
        algorithms_(session, tests.algorithms, buffer_bytes()),
        whole_(static_cast<std::size_t>(most_elements()), 0.0F, algorithms_.memory()),
        shard_(whole_.size() / static_cast<std::size_t>(ranks()) + 1, 0.0F, algorithms_.memory()) {}

  void run() {
    if (session_.is_root()) {
      session_.print_head("collective", all_columns());
      session_.print_table_head("", kShown);
    }
    for (const BenchCollective collective : tests_.collectives) {
      std::vector<Contender> contenders = make_contenders(collective);
      std::int64_t last = -1;
      for (const Bytes size : collective == BenchCollective::Barrier ? std::vector{Bytes{0}} : tests_.sizes) {
        const std::int64_t elements = elements_of(collective, size);
        if (elements == last) continue;  // two sizes that are the same elements
        last = elements;
        measure(collective, contenders, elements);
        for (const Contender& contender : contenders) emit(collective, contender, elements);
      }
    }
  }

  /// Writes the algorithm that was fastest at each size to a tune file, beside what else is in it. On rank 0.
  void save_choices(const std::string& path, std::vector<collective::TuneTable> tables) const {
    collective::TuneTable measured{
        .key = {.transport = session_.config().text("net.transport"), .ranks = ranks(), .ranks_per_node = session_.place().ranks_per_node}};
    for (const BenchCollective collective : tests_.collectives) {
      const std::optional<collective::Operation> operation = operation_of(collective);
      if (!operation) continue;
      const std::vector<collective::Choice> choices = crossovers(*operation, figures_);
      measured.choices.insert(measured.choices.end(), choices.begin(), choices.end());
    }
    merge_into(tables, measured);
    collective::save_tune_file(path, tables);
    if (!session_.arguments().csv) fmt::print("choices: {}\n", path);
  }

  static std::vector<BenchColumn> all_columns() {
    std::vector<BenchColumn> columns(kColumns.begin(), kColumns.end());
    const auto conditions = BenchSession::condition_columns();
    columns.insert(columns.end(), conditions.begin(), conditions.end());
    return columns;
  }

 private:
  [[nodiscard]] int ranks() const { return session_.place().ranks; }
  [[nodiscard]] int rank() const { return session_.world().rank(); }
  [[nodiscard]] Dtype wire_of(BenchCollective collective) const {
    return collective == BenchCollective::Broadcast ? Dtype::Fp32 : tests_.wire;  // broadcasts move bytes
  }

  [[nodiscard]] std::string type_of(BenchCollective collective) const {
    if (collective == BenchCollective::Barrier) return "";
    if (collective == BenchCollective::Broadcast) return "byte";
    return tests_.wire == Dtype::Bf16 ? "bf16" : "fp32";
  }

  /// Equal pieces for all ranks, at least one element each.
  [[nodiscard]] std::int64_t elements_of(BenchCollective collective, Bytes size) const {
    if (collective == BenchCollective::Barrier) return 0;
    return std::max<std::int64_t>(size.value / size_of(wire_of(collective)).value / ranks(), 1) * ranks();
  }

  [[nodiscard]] std::vector<Contender> make_contenders(BenchCollective collective) const {
    std::vector<Contender> contenders;
    for (const BenchAlgorithms::Algorithm* algorithm : algorithms_.of(collective, tests_.wire)) {
      contenders.push_back({.name = algorithm->name, .collectives = algorithm->collectives.get()});
    }
    return contenders;
  }

  /// Elements of the largest whole.
  [[nodiscard]] std::int64_t most_elements() const {
    std::int64_t most = 1;
    for (const BenchCollective collective : tests_.collectives) {
      for (const Bytes size : tests_.sizes) most = std::max(most, elements_of(collective, size));
    }
    return most;
  }

  /// Whole, shard, and room for what an algorithm keeps besides.
  [[nodiscard]] Bytes buffer_bytes() const { return size_of(Dtype::Fp32) * (3 * most_elements()) + mib(4); }

  void operate(BenchCollective collective, Contender& contender, std::int64_t elements) {
    const std::span<float> whole = std::span(whole_).first(static_cast<std::size_t>(elements));
    const std::size_t piece = whole.size() / static_cast<std::size_t>(ranks());
    const std::span<float> own = whole.subspan(static_cast<std::size_t>(rank()) * piece, piece);
    collective::Collectives& with = *contender.collectives;
    switch (collective) {
      case BenchCollective::AllGather:
        with.all_gather(own, whole, tests_.wire, net::Purpose::Parameters);
        break;
      case BenchCollective::ReduceScatter:
        with.reduce_scatter(whole, std::span(shard_).first(piece), tests_.wire, net::Purpose::Gradients);
        break;
      case BenchCollective::AllReduce:
        with.all_reduce(whole, tests_.wire, net::Purpose::Gradients);
        break;
      case BenchCollective::Broadcast:
        with.broadcast(std::as_writable_bytes(whole), 0, net::Purpose::Parameters);
        break;
      case BenchCollective::Barrier:
        with.barrier();
        break;
    }
  }

  Seconds timed(BenchCollective collective, Contender& contender, std::int64_t elements, std::int64_t repeats) {
    session_.links().control().barrier();
    const Seconds begin = session_.world().clock().now();
    for (std::int64_t i = 0; i < repeats; ++i) operate(collective, contender, elements);
    return (session_.world().clock().now() - begin) / static_cast<double>(repeats);
  }

  /// The plan for what takes this rank so long; the same on all. Collective.
  void plan(Contender& contender, double once_s) {
    const double slowest = session_.largest(std::span(&once_s, 1)).front();
    contender.plan = session_.agreed(plan_of({slowest}, session_.arguments().iterations));
  }

  /// All algorithms at one size, in rotation, so that what disturbs the machine disturbs all alike.
  void measure(BenchCollective collective, std::vector<Contender>& contenders, std::int64_t elements) {
    std::ranges::fill(std::span(whole_).first(static_cast<std::size_t>(elements)), 0.0F);
    std::int64_t most = 0;
    for (Contender& contender : contenders) {
      contender.plan = {};
      double fastest = timed(collective, contender, elements, 1).value;
      const std::int64_t warmup = session_.agreed({.iterations = warmup_of({fastest}, session_.arguments().warmup)}).iterations;
      for (std::int64_t i = 1; i < warmup; ++i) fastest = std::min(fastest, timed(collective, contender, elements, 1).value);
      plan(contender, fastest);
      // A short one takes less when it isn't alone.
      if (contender.plan.repeats > 1) plan(contender, timed(collective, contender, elements, contender.plan.repeats).value);
      contender.seconds.clear();
      most = std::max(most, contender.plan.iterations);
    }
    for (std::int64_t i = 0; i < most; ++i) {
      for (Contender& contender : contenders) {
        if (i < contender.plan.iterations)
          contender.seconds.push_back(timed(collective, contender, elements, contender.plan.repeats).value);
      }
    }
    for (Contender& contender : contenders) {
      contender.seconds = session_.largest(contender.seconds);
      contender.wrong = session_.arguments().check && collective != BenchCollective::Barrier ? check(collective, contender, elements) : -1;
    }
  }

  /// Runs it once with known elements. Returns how many are wrong on all ranks.
  std::int64_t check(BenchCollective collective, Contender& contender, std::int64_t elements) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const auto n = static_cast<std::size_t>(elements);
    const std::size_t piece = n / static_cast<std::size_t>(ranks());
    const std::size_t own = static_cast<std::size_t>(rank()) * piece;
    const bool is_sum = collective == BenchCollective::ReduceScatter || collective == BenchCollective::AllReduce;
    for (std::size_t i = 0; i < n; ++i) {
      const bool gives = is_sum || (collective == BenchCollective::Broadcast ? rank() == 0 : i / piece == static_cast<std::size_t>(rank()));
      whole_[i] = gives ? given_element(rank(), i) : kNan;
    }
    std::ranges::fill(shard_, kNan);
    session_.links().control().barrier();
    operate(collective, contender, elements);
    const std::span<const float> whole = std::span(whole_).first(n);
    const auto expected = [&](std::size_t i) {
      if (collective == BenchCollective::AllReduce) return summed_element(ranks(), i, tests_.wire);
      if (collective == BenchCollective::ReduceScatter) return summed_element(ranks(), own + i, Dtype::Fp32);
      return given_element(collective == BenchCollective::Broadcast ? 0 : static_cast<int>(i / piece), i);
    };
    const std::int64_t wrong =
        count_wrong(collective == BenchCollective::ReduceScatter ? std::span<const float>(shard_).first(piece) : whole, expected);
    return session_.sum(wrong);
  }

  /// The least time; NaN if it is not known. Collective.
  double bound_of(BenchCollective collective, Bytes whole) {
    if (const net::Profile* profile = session_.profile()) return least_time(collective, whole, session_.place(), *profile).value;
    const int hosts = equal_hosts(session_.world().hosts());
    const Bytes received{
        static_cast<std::int64_t>(static_cast<double>(whole.value) * bus_factor(collective, hosts == 1 ? ranks() : hosts))};
    if (hosts == 0 || received <= Bytes{0}) return record::kUnknown;
    if (hosts == 1) return session_.copy_time_of_all(received).value;
    const std::optional<BytesPerSecond> rate = session_.wire_rate();
    return rate ? (received / *rate).value : record::kUnknown;
  }

  void emit(BenchCollective collective, const Contender& contender, std::int64_t elements) {
    const bool is_bytes = collective == BenchCollective::Broadcast;
    const Bytes size = size_of(wire_of(collective)) * elements;
    record::BenchRow row{.test = std::string(name_of(collective)),
                         .algorithm = contender.name,
                         .type = type_of(collective),
                         .bytes = size.value,
                         .count = is_bytes ? size.value : elements};
    row.bound_seconds = bound_of(collective, size);
    if (!session_.is_root()) return;
    row.wrong = contender.wrong;
    set_times(row, contender.seconds, bus_factor(collective, bus_members(session_.place())));
    const ShownTimes times = shown_times(row, session_.dilation());
    std::vector<BenchCell> cells{row.test,
                                 row.algorithm,
                                 row.bytes,
                                 row.count,
                                 row.type,
                                 times.time_us,
                                 times.low_us,
                                 times.high_us,
                                 times.rate_gb_per_s,
                                 times.bus_gb_per_s,
                                 row.wrong < 0 ? BenchCell{} : BenchCell{row.wrong},
                                 times.share_percent,
                                 row.iterations,
                                 contender.plan.repeats};
    for (const BenchCell& cell : session_.conditions()) cells.push_back(cell);
    session_.print_row(cells);
    session_.keep(row);
    figures_.push_back(row);
  }

  BenchSession& session_;
  const CollectiveTests& tests_;
  std::vector<record::BenchRow> figures_;  // on rank 0
  BenchAlgorithms algorithms_;
  std::pmr::vector<float> whole_, shard_;  // where peers can read them, if they can
};

/// Throws ConfigError if MPI's own collectives are asked for by name where there are none.
void check_native(const BenchCollectiveArguments& arguments, const CollectiveTests& tests, const net::World& world, const Config& config) {
  if (arguments.algorithm.find("all") != std::string::npos ||
      std::ranges::find(tests.algorithms, kNativeAlgorithm) == tests.algorithms.end())
    return;
  if (world.mpi_comm() == nullptr) {
    throw ConfigError(
        fmt::format("--algorithm native: these are MPI's collectives, and net.transport is \"{}\"; start with mpirun and "
                    "net.transport=mpi",
                    config.text("net.transport")));
  }
  if (config.text("net.profile") != "none") throw ConfigError("--algorithm native: MPI's own messages can't be shaped; leave --net out");
}

/// What a tune file holds before; nothing if there is none. Throws ConfigError if it can't be written as asked.
std::vector<collective::TuneTable> tables_before(const BenchCollectiveArguments& arguments, const Config& config, int ranks) {
  if (arguments.tune.empty()) return {};
  if (config.text("net.profile") != "none") {
    throw ConfigError("--tune: choices are measured on the real network, where later runs use them; leave --net out");
  }
  if (ranks < 2) throw ConfigError("--tune: one rank has nothing to choose; start two or more");
  check_can_write("--tune", arguments.tune);
  std::error_code error;
  return std::filesystem::exists(arguments.tune, error) ? collective::load_tune_file(arguments.tune) : std::vector<collective::TuneTable>{};
}

std::vector<BenchCollective> parse_collectives(const std::string& text) {
  std::vector<std::string> known;
  for (const BenchCollective collective : bench_collectives()) known.emplace_back(name_of(collective));
  std::vector<BenchCollective> collectives;
  for (const std::string& name : parse_names(text, known, "--collective")) {
    collectives.push_back(static_cast<BenchCollective>(std::ranges::find(known, name) - known.begin()));
  }
  return collectives;
}

}  // namespace

std::string bench_collective_columns_help() {
  return columns_help(CollectiveBench::all_columns());
}

int bench_collective_command(const BenchCollectiveArguments& arguments, const Invocation& invocation) {
  Config config;
  CollectiveTests tests;
  const auto load = [&] {
    tests.collectives = parse_collectives(arguments.collective);
    tests.algorithms = parse_names(arguments.algorithm, bench_algorithm_names(), "--algorithm");
    tests.sizes = parse_sizes(arguments.sizes);
    tests.wire = arguments.dtype == "bf16" ? Dtype::Bf16 : Dtype::Fp32;
    config = load_bench_config(arguments);
    return config;
  };
  return launch(arguments, invocation, load, [&](net::World& world) {
    std::vector<collective::TuneTable> tables;
    agree(world, [&] {
      check_native(arguments, tests, world, config);
      if (world.rank() == 0) tables = tables_before(arguments, config, world.size());
    });
    BenchSession session(world, config, arguments, invocation.text());
    CollectiveBench bench(session, tests);
    bench.run();
    agree(world, [&] {
      if (session.is_root() && !arguments.tune.empty()) bench.save_choices(arguments.tune, std::move(tables));
    });
    session.finish();
    return 0;
  });
}

}  // namespace twinax::app
