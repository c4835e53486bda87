#include "twinax/net/calibrate.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/base/write_file.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/collective/group.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/shaped.hpp"

#include "app/agreement.hpp"
#include "app/commands.hpp"
#include "app/emulation.hpp"
#include "app/launch.hpp"
#include "app/links.hpp"
#include "app/rank_pair.hpp"

namespace twinax::app {
namespace {

constexpr std::uint8_t kControlLane = 4;
constexpr std::string_view kBetween = "--between";

void check_arguments(const CalibrateArguments& arguments) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (arguments.name.empty() || arguments.name == "none" || arguments.name.find_first_not_of(kAllowed) != std::string::npos) {
    throw ConfigError(fmt::format("--name {}: a network's name has letters, digits, - and _, and is not none", arguments.name));
  }
  std::error_code error;
  if (std::filesystem::exists(arguments.out, error)) {
    throw ConfigError(fmt::format("-o {}: exists already; remove it or name another file", arguments.out));
  }
  check_can_write("-o", arguments.out);
}

/// Each rank's node: of the emulated network, or its host's place among the hosts.
std::vector<int> nodes(const net::World& world, const Config& config, bool is_emulated) {
  std::vector<int> node_of;
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto& hosts = world.hosts();
    const auto host = std::ranges::find(hosts, hosts[static_cast<std::size_t>(rank)]) - hosts.begin();
    node_of.push_back(is_emulated ? rank / ranks_per_node(config, world, world.size()) : static_cast<int>(host));
  }
  return node_of;
}

/// The network that the ranks are given, as it is applied; null: their real one.
std::optional<net::Profile> applied_profile(const Config& config) {
  if (config.text("emulate.accelerator") != "none") {
    throw ConfigError("emulate.accelerator: a wire is measured without computing; say the dilation (net.dilation) instead");
  }
  Emulation emulation;
  if (config.real("net.dilation") > 0) emulation.dilation = config.real("net.dilation");
  return make_profile(config, emulation, {});
}

std::string place(const net::World& world, int rank) {
  return fmt::format("rank {} on {}", rank, world.hosts()[static_cast<std::size_t>(rank)]);
}

/// What was measured, for people.
std::string table(const net::World& world, const net::CalibrationPlan& plan, const net::Calibration& measured,
                  const net::CalibrationOptions& options) {
  std::string text = fmt::format("{:<30} {:>9} {:>10} {:>10} {:>10} {:>13}\n", "", "p1", "p50", "p99", "a message", "rate");
  const auto line = [&](const std::string& what, const net::WireFigures& wire) {
    const auto half = [&](double share) { return for_people(Seconds{net::quantile(wire.round_trips_s, share) / 2}); };
    text += fmt::format("{:<30} {:>9} {:>10} {:>10} {:>10} {:>13}\n", what, half(0.01), half(0.5), half(0.99),
                        for_people(wire.small_message), for_people(options.large / wire.large_message));
  };
  line(fmt::format("rank {} to {}, one stream", plan.pair.from, plan.pair.to), measured.pair);
  if (measured.flows > 1) {
    text += fmt::format("{:<30} {:>9} {:>10} {:>10} {:>10} {:>13}\n", fmt::format("out of its node, {} streams", measured.flows), "", "",
                        "", for_people(measured.small_of_all), for_people(options.large / measured.large_of_all));
  }
  if (!plan.in_node.empty()) line(fmt::format("rank {} to {}, in its node", plan.in_node[0].from, plan.in_node[0].to), measured.in_node);
  return text +
         fmt::format("(half of {} round trips of {}; a message: what a small one adds to a stream; rate: of messages of {}; {} to {})\n",
                     measured.pair.round_trips_s.size(), for_people(options.small), for_people(options.large), place(world, plan.pair.from),
                     place(world, plan.pair.to));
}

std::string source_text(const net::World& world, const Config& config, const net::CalibrationPlan& plan, const net::Calibration& measured,
                        const net::CalibrationOptions& options) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::string text =
      fmt::format("all figures measured by twinax calibrate net on {:%Y-%m-%d}, transport {}{}, between {} and {}", fmt::gmtime(now),
                  config.text("net.transport"), world.mpi_version().empty() ? "" : " (" + world.mpi_version() + ")",
                  place(world, plan.pair.from), place(world, plan.pair.to));
  if (config.text("net.profile") != "none") text += fmt::format(", which were shaped as {}", config.text("net.profile"));
  text += fmt::format(": latency, jitter and tail from {} round trips of {} B (half of one: p50 {}, p99 {})",
                      measured.pair.round_trips_s.size(), options.small.value,
                      for_people(Seconds{net::quantile(measured.pair.round_trips_s, 0.5) / 2}),
                      for_people(Seconds{net::quantile(measured.pair.round_trips_s, 0.99) / 2}));
  text +=
      fmt::format("; rate, gap and overhead from messages of {}, {} and {} B over {} at once", options.small.value, options.middle.value,
                  options.large.value, measured.flows == 1 ? "1 stream" : fmt::format("{} streams", measured.flows));
  text += plan.in_node.empty() ? "; in-node: not measured, taken as the network's" : "; in-node: likewise, 1 stream inside the first node";
  return text;
}

/// What the leading rank tells rank 0: the table, and the catalog's text.
struct Report {
  std::string table, toml;
};

Report measure(net::World& world, const Config& config, const CalibrateArguments& arguments, const net::CalibrationPlan& plan) {
  const std::optional<net::Profile> profile = applied_profile(config);
  net::Transport* transport = &world.transport();
  std::unique_ptr<net::Transport> shaped;
  const auto board = world.share(net::NicBoard::size(world.size()));
  const net::CalibrationOptions options{.middle = {config.bytes("net.chunk").value / 4}, .large = config.bytes("net.chunk")};
  if (profile) {
    shaped =
        net::make_shaped(*transport, world.wait_context(),
                         {.profile = *profile, .chunk = options.large, .seed = static_cast<std::uint64_t>(config.integer("train.seed"))},
                         net::NicBoard(board, world.size(), ranks_per_node(config, world, world.size())));
    transport = shaped.get();
  }
  const net::Calibration measured = net::calibrate(*transport, world.wait_context(), plan, options);
  world.sleep_barrier();  // ranks without a part wait here
  if (world.rank() != plan.pair.from) return {};
  net::Profile found = net::fit_profile(measured, options);
  found.name = arguments.name;
  found.source = source_text(world, config, plan, measured, options);
  return {.table = table(world, plan, measured, options), .toml = net::to_toml(found)};
}

int run(net::World& world, const Config& config, const CalibrateArguments& arguments) {
  net::CalibrationPlan plan;
  agree(world, [&] {
    if (world.rank() == 0) check_arguments(arguments);
    const std::optional<net::Profile> profile = applied_profile(config);
    const double dilation = config.real("net.dilation");
    check_links(config, world, profile, dilation > 0 ? dilation : 1, world.size());
    std::optional<net::CalibrationFlow> given;
    if (!arguments.between.empty()) {
      const auto [from, to] = parse_pair(arguments.between, kBetween);
      if (world.size() > 1) check_pair({from, to}, world.size(), kBetween);
      given = net::CalibrationFlow{.from = from, .to = to};
    }
    plan = net::plan_calibration(nodes(world, config, profile.has_value()), given ? &*given : nullptr);
  });
  if (world.rank() == 0 && config.text("net.profile") == "none" && std::ssize(world.ranks_on_host()) == world.size()) {
    log_warn("all ranks are on one host: what is measured is its memory or its own loopback, not a network");
  }
  const Report mine = measure(world, config, arguments, plan);
  const auto control =
      collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = kControlLane});
  const auto leader = static_cast<std::size_t>(plan.pair.from);
  const std::string table = gather_texts(*control, mine.table)[leader];
  const std::string toml = gather_texts(*control, mine.toml)[leader];
  agree(world, [&] {
    if (world.rank() != 0) return;
    write_file(arguments.out, fmt::format("# A network that can be emulated: --set net.catalog={} --net NAME\n\n{}", arguments.out, toml));
  });
  if (world.rank() == 0) {
    fmt::print("{}", table);
    fmt::print("written to {}: emulate it with --set net.catalog={} --net {}\n", arguments.out, arguments.out, arguments.name);
  }
  return 0;
}

}  // namespace

int calibrate_command(const CalibrateArguments& arguments, const Invocation& invocation) {
  const auto load = [&] {
    Config config;
    for (const std::string& assignment : arguments.set) config.set(assignment);
    return config;
  };
  return launch(arguments, invocation, load, [&](net::World& world) { return run(world, load(), arguments); });
}

}  // namespace twinax::app
