#include "app/bench_session.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/record/environment.hpp"

#include "app/agreement.hpp"
#include "app/cluster_catalog.hpp"
#include "app/emulation.hpp"
#include "app/experiment.hpp"
#include "app/model_catalog.hpp"
#include "app/run_output.hpp"
#include "app/training_run.hpp"
#include "app/workload.hpp"

namespace twinax::app {
namespace {

constexpr int kCopies = 7;  // of which the fastest counts

constexpr std::array kConditions{BenchColumn{"transport", "transport", "how messages pass", 9, true},
                                 BenchColumn{"network", "network", "the emulated one; none = as fast as the machine", 9, true},
                                 BenchColumn{"dilation", "dilation", "seconds here for a second of the emulated network"},
                                 BenchColumn{"ranks", "ranks", "that take part"},
                                 BenchColumn{"ranks a node", "ranks_per_node", "of the emulated network, or of the host"}};

bool needs_rate(const Config& config) {
  return config.text("emulate.accelerator") != "none" && config.real("net.dilation") == 0;
}

bool stands_for_model(const Config& config) {
  return config.real("emulate.parameters") > 0 || !config.text("emulate.model").empty();
}

}  // namespace

Config load_bench_config(const BenchArguments& arguments) {
  Config config;
  if (arguments.file.empty()) {
    for (const std::string& assignment : arguments.set) config.set(assignment);
  } else {
    config = load_config(arguments.file, arguments.set);
    take_catalog_model(config);
  }
  take_catalog_cluster(config);
  const bool needs_model = needs_rate(config) || stands_for_model(config);
  if (needs_model && arguments.file.empty()) {
    throw ConfigError(
        fmt::format("emulate.accelerator = \"{}\": how much slower a rank is than it is measured by training's model, and a benchmark has "
                    "none: name a config file that has one, such as experiments/gpt-small.toml, or say how slow: --set net.dilation=20",
                    config.text("emulate.accelerator")));
  }
  return config;
}

BenchSession::BenchSession(net::World& world, const Config& config, const BenchArguments& arguments, const std::string& command)
    : world_(world), config_(config), arguments_(arguments) {
  const collective::Group all = collective::Group::first(world.size(), world.rank());
  agree(world, [&] { devices_.emplace(world, config, all); });
  decide_network(command);
  links_.emplace(world, config, all, profile_, LinkRequest{});
  find_wire_rate();
  agree(world, [&] {
    if (is_root()) open_record(command);
  });
}

void BenchSession::decide_network(const std::string& command) {
  FlopsPerSecond rate{1};
  RunSize run;
  if (needs_rate(config_)) {
    RunRequest request;
    request.config = config_;
    request.command = command;
    rate = measure_rate(world_, request);
  }
  agree(world_, [&] {
    step::Arena arena;
    if (stands_for_model(config_)) {
      const Workload workload(config_, world_.size(), world_.rank(), arena);
      run = {.parameters = workload.parameters(), .sequence = workload.sequence_flops()};
    }
    emulation_ = make_emulation(config_, rate);
    place_ = {.ranks = world_.size(), .ranks_per_node = ranks_per_node(config_, world_, world_.size())};
    run.nodes = nodes_of(place_);
    profile_ = make_profile(config_, emulation_, run);
    check_links(config_, world_, profile_, emulation_.dilation, place_.ranks);
  });
}

void BenchSession::find_wire_rate() {
  const std::string& device = config_.text("net.device");
  const std::optional<BytesPerSecond> mine = device.empty() ? std::nullopt : net::read_device_speed(device);
  const double seconds_per_byte = mine ? 1 / mine->value : std::numeric_limits<double>::infinity();
  const double most = largest(std::span(&seconds_per_byte, 1)).front();
  if (std::isfinite(most)) wire_rate_ = BytesPerSecond{1 / most};
}

void BenchSession::open_record(const std::string& command) {
  const std::string& path = config_.text("record.path");
  if (path.empty()) return;
  record::RecordHead head;
  head.kind = "bench";
  head.name = std::filesystem::path(path).stem().string();
  head.command = command;
  head.config_toml = config_.to_toml();
  head.environment = environment_of(world_, config_, emulation_, place_.ranks, place_.ranks_per_node);
  head.purposes.assign(net::kPurposes.begin(), net::kPurposes.end());
  head.flags = flags_of(world_, place_.ranks);
  record_ = std::make_unique<record::RunRecord>(path, head, true);
}

bool BenchSession::share_host(int a, int b) const {
  return world_.hosts()[static_cast<std::size_t>(a)] == world_.hosts()[static_cast<std::size_t>(b)];
}

Seconds BenchSession::copy_time(Bytes size) {
  const auto n = static_cast<std::size_t>(size.value);
  if (from_.size() < n) {
    from_.assign(n, std::byte{1});
    to_.assign(n, std::byte{0});
  }
  const auto copies = [&](std::int64_t repeats) {
    const Seconds begin = world_.clock().now();
    for (std::int64_t i = 0; i < repeats; ++i) {
      std::memcpy(to_.data(), from_.data(), n);
      asm volatile("" : : "r"(to_.data()) : "memory");  // each copy is made
    }
    return (world_.clock().now() - begin) / static_cast<double>(repeats);
  };
  const std::int64_t repeats = plan_of(copies(1), 1).repeats;
  Seconds least = copies(repeats);
  for (int i = 1; i < kCopies; ++i) least = std::min(least, copies(repeats));
  return least;
}

Seconds BenchSession::copy_time_of_all(Bytes size) {
  links().control().barrier();
  const double mine = copy_time(size).value;
  return {largest(std::span(&mine, 1)).front()};
}

std::vector<double> BenchSession::largest(std::span<const double> mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(place_.ranks));
  links().control().all_gather_bytes(std::as_bytes(mine), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  std::vector<double> most(mine.begin(), mine.end());
  for (std::size_t i = 0; i < all.size(); ++i) most[i % most.size()] = std::max(most[i % most.size()], all[i]);
  return most;
}

std::int64_t BenchSession::sum(std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(place_.ranks));
  links().control().all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  std::int64_t total = 0;
  for (const std::int64_t one : all) total += one;
  return total;
}

BenchPlan BenchSession::agreed(BenchPlan mine) {
  links().control().broadcast(std::as_writable_bytes(std::span(&mine, 1)), 0, net::Purpose::Control);
  return mine;
}

void BenchSession::print_head(std::string_view what, std::span<const BenchColumn> columns) {
  columns_.assign(columns.begin(), columns.end());
  std::FILE* const to = arguments_.csv ? stderr : stdout;
  if (!arguments_.quiet) {
    const std::string mpi = world_.mpi_version();
    fmt::print(to, "# twinax {} bench {}: {} ranks on {}, transport {}{}\n", TWINAX_VERSION, what, place_.ranks,
               record::describe_hosts(world_.hosts()), config_.text("net.transport"), mpi.empty() ? "" : " (" + mpi + ")");
    if (profile_) {
      fmt::print(to, "# EMULATED network {}: {} a node and direction, latency {}, {} rank(s) a node\n", profile_->name,
                 for_people(profile_->usable_rate() * dilation()), for_people(profile_->latency / dilation()), place_.ranks_per_node);
      if (dilation() != 1) {
        fmt::print(to, "# dilation {:.4g}: a second there takes so many here; times and rates below are the emulated network's\n",
                   dilation());
      }
      fmt::print(to, "# bound: the least time on such a network\n");
    } else {
      fmt::print(to, "# unshaped; {}\n", bound_text());
    }
    if (const std::string flags = flags_of(world_, place_.ranks); !flags.empty()) {
      fmt::print(to, "# {}: more ranks than the {} usable cores, so ranks take turns\n", flags, world_.usable_cores());
    }
    fmt::print(to, "# medians of iterations with 95% intervals; an iteration takes as long as its slowest rank\n");
  }
  if (arguments_.csv) fmt::print("{}\n", csv_head(columns_));
  std::fflush(stdout);
}

/// What the bound of an unshaped figure is.
std::string BenchSession::bound_text() const {
  std::string text = "bound: copying the bytes that a rank receives in memory, measured in this run";
  if (std::ssize(world_.ranks_on_host()) == place_.ranks) return text;
  if (!wire_rate_) return text + "; between hosts not known, but by a net.device whose speed the kernel knows";
  return text + fmt::format("; between hosts net.device {} at {}, as the kernel says", config_.text("net.device"), for_people(*wire_rate_));
}

void BenchSession::print_table_head(std::string_view title, std::span<const std::string_view> shown) {
  shown_.assign(shown.begin(), shown.end());
  if (arguments_.csv) return;
  fmt::print("\n{}{}{}\n", title, title.empty() ? "" : "\n", text_head(columns_, shown_));
  std::fflush(stdout);
}

void BenchSession::print_row(std::span<const BenchCell> cells) {
  fmt::print("{}\n", arguments_.csv ? csv_line(cells) : text_line(columns_, cells, shown_));
  std::fflush(stdout);
}

void BenchSession::keep(const record::BenchRow& row) {
  if (!record_) return;
  record_->append_bench(row);
  record_->flush();
}

void BenchSession::finish() {
  const std::vector<net::DeviceUse> devices = devices_->finish(links().control());
  const std::vector<std::int64_t> sent = links().all_sent();
  if (is_root()) warn_about_wires(config_, world_.hosts(), devices, sent);
  if (record_) {
    record_->set_links(sent);
    record_->append_devices(device_rows(devices));
    record_->close();
    if (!arguments_.csv) fmt::print("record: {}\n", config_.text("record.path"));
  }
  world_.sleep_barrier();
}

std::vector<BenchCell> BenchSession::conditions() const {
  return {config_.text("net.transport"), config_.text("net.profile"), dilation(), std::int64_t{place_.ranks},
          std::int64_t{place_.ranks_per_node}};
}

std::span<const BenchColumn> BenchSession::condition_columns() {
  return kConditions;
}

}  // namespace twinax::app
