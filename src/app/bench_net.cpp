#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"

#include "app/agreement.hpp"
#include "app/bench_exchange.hpp"
#include "app/bench_session.hpp"
#include "app/bench_sizes.hpp"
#include "app/commands.hpp"
#include "app/launch.hpp"
#include "app/rank_pair.hpp"

namespace twinax::app {
namespace {

constexpr std::string_view kPair = "--pair";

constexpr std::array kColumns{
    BenchColumn{"test", "test", "what is measured", 13, true},
    BenchColumn{"from", "from_rank", "the sender; - if many", 4},
    BenchColumn{"to", "to_rank", "the receiver", 4},
    BenchColumn{"size [B]", "size_bytes", "bytes of a message", 9},
    BenchColumn{"window", "in_flight", "messages of a sender in flight at once", 6},
    BenchColumn{"latency [us]", "latency_us", "one way: half of a round trip", 12},
    BenchColumn{"low", "latency_low_us", "lower end of the latency's 95% interval"},
    BenchColumn{"high", "latency_high_us", "upper end of it"},
    BenchColumn{"MB/s", "rate_MB_per_s",
                "bytes of all messages over the time until the last has arrived (and, but for incast, was acknowledged)", 9},
    BenchColumn{"low", "rate_low_MB_per_s", "lower end of the rate's 95% interval"},
    BenchColumn{"high", "rate_high_MB_per_s", "upper end of it"},
    BenchColumn{"Gbit/s", "rate_Gbit_per_s", "the same rate as networks are named by", 8},
    BenchColumn{"messages/s", "messages_per_s", "how many messages arrive in a second", 11},
    BenchColumn{"#wrong", "wrong_bytes", "bytes that arrived with another value than was sent; - if not checked", 6},
    BenchColumn{
        "% bound", "share_of_bound_percent",
        "the least time over the measured: of the emulated network's latency and rate, or, unshaped in a host, of copying the message "
        "once in memory, between hosts, of its bytes at the speed of net.device",
        7},
    BenchColumn{"iterations", "iterations", "of which the median is taken", 10}};

constexpr std::array<std::string_view, 6> kLatencyColumns{"size_bytes",      "latency_us",  "latency_low_us",
                                                          "latency_high_us", "wrong_bytes", "share_of_bound_percent"};
constexpr std::array<std::string_view, 9> kRateColumns{"size_bytes",        "in_flight",          "rate_MB_per_s",
                                                       "rate_low_MB_per_s", "rate_high_MB_per_s", "rate_Gbit_per_s",
                                                       "messages_per_s",    "wrong_bytes",        "share_of_bound_percent"};
constexpr std::array<std::string_view, 9> kPairColumns{"from_rank",       "to_rank",     "size_bytes",
                                                       "in_flight",       "latency_us",  "rate_MB_per_s",
                                                       "rate_Gbit_per_s", "wrong_bytes", "share_of_bound_percent"};

/// What is asked for, checked.
struct NetTests {
  std::vector<std::string> tests;
  std::vector<Bytes> sizes;
  std::int64_t window = 1;
  std::optional<std::pair<int, int>> pair;
};

const std::vector<std::string>& known_tests() {
  static const std::vector<std::string> tests{"latency", "bandwidth", "bidirectional", "incast", "all-pairs"};
  return tests;
}

/// The measurements of `bench net` on one rank.
class NetBench {
 public:
  NetBench(BenchSession& session, const NetTests& tests) : session_(session), tests_(tests) {}

  void run() {
    if (session_.is_root()) session_.print_head("net", all_columns());
    const int last = session_.place().ranks - 1;
    const std::pair<int, int> pair = tests_.pair.value_or(std::pair{0, last});
    for (const std::string& test : tests_.tests) {
      if (test == "incast") {
        run_incast();
      } else if (test == "all-pairs") {
        run_all_pairs();
      } else {
        const Pattern pattern = test == "latency" ? Pattern::Latency : test == "bandwidth" ? Pattern::Bandwidth : Pattern::Bidirectional;
        run_pair(test, pattern, pair);
      }
    }
  }

  static std::vector<BenchColumn> all_columns() {
    std::vector<BenchColumn> columns(kColumns.begin(), kColumns.end());
    const auto conditions = BenchSession::condition_columns();
    columns.insert(columns.end(), conditions.begin(), conditions.end());
    return columns;
  }

 private:
  [[nodiscard]] int rank() const { return session_.world().rank(); }

  void print_table(const std::string& title, std::span<const std::string_view> shown) {
    if (session_.is_root()) session_.print_table_head("# " + title, shown);
  }

  [[nodiscard]] ExchangeOptions options(Pattern pattern, Bytes size) const {
    const net::Profile* profile = session_.profile();
    const BytesPerSecond rate = profile == nullptr ? BytesPerSecond{0} : best_rate(false, *profile);
    return {.pattern = pattern,
            .size = size,
            .in_flight = pattern == Pattern::Latency ? 1 : window_of(size, tests_.window, rate),
            .iterations = session_.arguments().iterations,
            .warmup = session_.arguments().warmup,
            .check = session_.arguments().check};
  }

  /// The least time of bytes between hosts; NaN if it is not known.
  [[nodiscard]] Seconds least_on_wire(Bytes size) const {
    const std::optional<BytesPerSecond> rate = session_.wire_rate();
    return rate ? size / *rate : Seconds{record::kUnknown};
  }

  /// The least time of a message between two ranks of which this is one; NaN if it is not known.
  [[nodiscard]] double bound_of(Pattern pattern, Bytes size, int other) {
    const int node = rank() / session_.place().ranks_per_node;
    const bool is_in_node = node == other / session_.place().ranks_per_node;
    const double directions = pattern == Pattern::Bidirectional ? 2 : 1;
    if (const net::Profile* profile = session_.profile()) {
      if (pattern == Pattern::Latency) return least_latency(size, is_in_node, *profile).value;
      return (size / best_rate(is_in_node, *profile)).value / directions;
    }
    if (!session_.share_host(rank(), other)) return least_on_wire(size).value / directions;
    return session_.copy_time(size).value / directions;
  }

  /// One pair at one size; the row is whole on the first of the two.
  record::BenchRow measure(const std::string& test, Pattern pattern, Bytes size, std::pair<int, int> pair) {
    const bool is_first = rank() == pair.first;
    const int other = is_first ? pair.second : pair.first;
    record::BenchRow row{.test = test, .type = "byte", .bytes = size.value, .count = size.value, .from = pair.first, .to = pair.second};
    const ExchangeOptions how = options(pattern, size);
    if (is_first) row.bound_seconds = bound_of(pattern, size, other);
    Exchange exchange(session_.links().transport(), session_.world().transport(), session_.world().clock(), is_first, {other});
    const ExchangeResult result = exchange.run(how);
    row.in_flight = how.in_flight;
    row.wrong = result.wrong;
    set_times(row, result.seconds_each, 0);
    return row;
  }

  void run_pair(const std::string& test, Pattern pattern, std::pair<int, int> pair) {
    const bool is_latency = pattern == Pattern::Latency;
    const std::string arrow = pattern == Pattern::Bandwidth ? "to" : "and";
    print_table(fmt::format("{}: rank {} {} rank {}", test, pair.first, arrow, pair.second),
                is_latency ? std::span<const std::string_view>(kLatencyColumns) : std::span<const std::string_view>(kRateColumns));
    for (const Bytes size : tests_.sizes) {
      std::vector<record::BenchRow> rows;
      if (rank() == pair.first || rank() == pair.second) rows.push_back(measure(test, pattern, size, pair));
      collect(rows, {pair}, {test});
    }
  }

  void run_incast() {
    const BenchPlace& place = session_.place();
    print_table(fmt::format("incast: {} ranks to rank 0", place.ranks - 1), kRateColumns);
    std::vector<int> peers{0};
    if (rank() == 0) {
      peers.resize(static_cast<std::size_t>(place.ranks - 1));
      std::iota(peers.begin(), peers.end(), 1);
    }
    int foreign = 0;  // senders on other hosts
    for (int r = 1; r < place.ranks; ++r) foreign += session_.share_host(0, r) ? 0 : 1;
    for (const Bytes size : tests_.sizes) {
      record::BenchRow row{.test = "incast", .type = "byte", .bytes = size.value, .count = size.value, .to = 0};
      ExchangeOptions how = options(Pattern::Incast, size * (place.ranks - 1));  // the window of all senders together
      how.size = size;
      if (rank() == 0) {
        if (const net::Profile* profile = session_.profile()) {
          row.bound_seconds = least_incast_time(size, place, *profile).value / (place.ranks - 1);
        } else {
          row.bound_seconds = foreign > 0 ? least_on_wire(size * foreign).value / (place.ranks - 1) : session_.copy_time(size).value;
        }
      }
      session_.world().sleep_barrier();
      Exchange exchange(session_.links().transport(), session_.world().transport(), session_.world().clock(), rank() == 0, peers);
      const ExchangeResult result = exchange.run(how);
      row.in_flight = how.in_flight;
      row.wrong = result.wrong;
      set_times(row, result.seconds_each, 0);
      session_.world().sleep_barrier();
      if (rank() == 0) emit(row);
    }
  }

  void run_all_pairs() {
    print_table("all-pairs: each pair's latency, and its rate from the lower to the higher rank; disjoint pairs at once", kPairColumns);
    const std::vector<std::string> tests{"all-pairs latency", "all-pairs rate"};
    const auto [smallest, largest] = std::ranges::minmax(tests_.sizes);
    for (const auto& round : pair_rounds(session_.place().ranks)) {
      std::vector<record::BenchRow> rows;
      for (const auto& pair : round) {
        if (rank() != pair.first && rank() != pair.second) continue;
        rows.push_back(measure(tests[0], Pattern::Latency, smallest, pair));
        rows.push_back(measure(tests[1], Pattern::Bandwidth, largest, pair));
      }
      collect(rows, round, tests);
    }
  }

  /// Brings the figures of each pair's first rank to rank 0, which prints them in the pairs' order; a pair has a row for each of `tests`.
  /// Collective.
  void collect(std::vector<record::BenchRow> rows, std::vector<std::pair<int, int>> pairs, const std::vector<std::string>& tests) {
    session_.world().sleep_barrier();  // ranks without a pair sleep meanwhile
    constexpr net::Tag kRows{(7U << 14) + 5};
    net::Transport& control = session_.world().transport();
    std::ranges::sort(pairs);
    for (const auto& pair : pairs) {
      if (rank() != 0 && rank() != pair.first) continue;
      rows.resize(tests.size());
      for (std::size_t i = 0; i < tests.size(); ++i) {
        std::array<double, kNumbers> numbers = numbers_of(rows[i]);
        if (pair.first != 0) {
          const auto bytes = std::as_writable_bytes(std::span(numbers));
          net::Request request =
              rank() == 0 ? control.receive(bytes, pair.first, kRows) : control.send(bytes, 0, kRows, net::Purpose::Control);
          control.wait(request);
        }
        if (rank() == 0) emit(row_of(tests[i], numbers));
      }
    }
  }

  static constexpr std::size_t kNumbers = 10;
  static std::array<double, kNumbers> numbers_of(const record::BenchRow& row) {
    return {static_cast<double>(row.bytes),
            static_cast<double>(row.from),
            static_cast<double>(row.to),
            static_cast<double>(row.in_flight),
            static_cast<double>(row.iterations),
            static_cast<double>(row.wrong),
            row.seconds,
            row.seconds_low,
            row.seconds_high,
            row.bound_seconds};
  }
  static record::BenchRow row_of(const std::string& test, const std::array<double, kNumbers>& numbers) {
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(numbers[i]); };
    return {.test = test,
            .type = "byte",
            .bytes = whole(0),
            .count = whole(0),
            .from = whole(1),
            .to = whole(2),
            .in_flight = whole(3),
            .iterations = whole(4),
            .seconds = numbers[6],
            .seconds_low = numbers[7],
            .seconds_high = numbers[8],
            .bytes_per_second = numbers[0] / numbers[6],
            .bound_seconds = numbers[9],
            .wrong = whole(5)};
  }

  /// Prints and keeps a figure; on rank 0.
  void emit(const record::BenchRow& row) {
    const bool is_latency = row.test.find("latency") != std::string::npos;
    const ShownTimes times = shown_times(row, session_.dilation());
    constexpr double kMega = 1e6;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const auto rate = [&](double us) { return is_latency ? kNone : static_cast<double>(row.bytes) / us; };  // MB/s
    const auto latency = [&](double us) { return is_latency ? us : kNone; };
    const auto rank_cell = [](std::int64_t r) { return r < 0 ? BenchCell{} : BenchCell{r}; };
    std::vector<BenchCell> cells{row.test,
                                 rank_cell(row.from),
                                 rank_cell(row.to),
                                 row.bytes,
                                 row.in_flight,
                                 latency(times.time_us),
                                 latency(times.low_us),
                                 latency(times.high_us),
                                 rate(times.time_us),
                                 rate(times.high_us),
                                 rate(times.low_us),
                                 rate(times.time_us) * 8 / 1e3,
                                 is_latency ? kNone : kMega / times.time_us,
                                 row.wrong < 0 ? BenchCell{} : BenchCell{row.wrong},
                                 times.share_percent,
                                 row.iterations};
    for (const BenchCell& cell : session_.conditions()) cells.push_back(cell);
    session_.print_row(cells);
    session_.keep(row);
  }

  BenchSession& session_;
  const NetTests& tests_;
};

/// Throws ConfigError for what the ranks can't do.
void check_tests(const NetTests& tests, int ranks) {
  if (ranks < 2) {
    throw ConfigError(
        "bench net: messages need two ranks at least, and there is one: mpirun -n 2 --bind-to none twinax bench net, or "
        "twinax bench net --set net.transport=loopback --ranks 2");
  }
  if (tests.pair) check_pair(*tests.pair, ranks, kPair);
}

}  // namespace

std::string bench_net_columns_help() {
  return columns_help(NetBench::all_columns());
}

int bench_net_command(const BenchNetArguments& arguments, const Invocation& invocation) {
  Config config;
  NetTests tests;
  const auto load = [&] {
    tests.tests = parse_names(arguments.test, known_tests(), "--test");
    tests.sizes = parse_sizes(arguments.sizes);
    tests.window = arguments.window;
    if (!arguments.pair.empty()) tests.pair = parse_pair(arguments.pair, kPair);
    config = load_bench_config(arguments);
    return config;
  };
  return launch(arguments, invocation, load, [&](net::World& world) {
    agree(world, [&] { check_tests(tests, world.size()); });
    BenchSession session(world, config, arguments, invocation.text());
    NetBench(session, tests).run();
    session.finish();
    return 0;
  });
}

}  // namespace twinax::app
