#include "app/links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/shaped.hpp"

namespace twinax::app {
namespace {

constexpr std::uint8_t kStepLane = 1;
constexpr std::uint8_t kControlLane = 4;
constexpr std::uint8_t kWorldLane = 5;

}  // namespace

int ranks_per_node(const Config& config, const net::World& world, int ranks) {
  if (const std::int64_t given = config.integer("net.ranks_per_node"); given > 0)
    return static_cast<int>(std::min<std::int64_t>(given, ranks));
  if (config.text("net.profile") != "none") return 1;
  return static_cast<int>(std::min<std::int64_t>(std::ssize(world.ranks_on_host()), ranks));
}

void check_links(const Config& config, const net::World& world, const std::optional<net::Profile>& profile, double dilation, int ranks) {
  const bool is_native = config.text("collective.implementation") == "native";
  if (is_native && world.mpi_comm() == nullptr) {
    throw ConfigError(fmt::format("collective.implementation = \"native\": they are MPI's, and net.transport is \"{}\"; use mpi, or own",
                                  config.text("net.transport")));
  }
  const std::string& algorithm = config.text("collective.algorithm");
  if (!profile) {
    if (algorithm == "direct" && std::ssize(world.ranks_on_host()) < ranks) {
      throw ConfigError("collective.algorithm = \"direct\": ranks of several hosts have no memory in common; use auto, or hierarchical");
    }
    return;
  }
  if (algorithm == "direct" || algorithm == "exchange" || algorithm == "recursive") {
    throw ConfigError(
        fmt::format("collective.algorithm = \"{}\": under net.profile use auto, ring, pairwise or hierarchical, whose bytes "
                    "on each link the step's lower bound knows",
                    algorithm));
  }
  if (!config.text("collective.tune").empty()) {
    throw ConfigError("collective.tune: its choices were measured on the real network; leave it out under net.profile");
  }
  if (is_native) {
    throw ConfigError("collective.implementation = \"native\": MPI's own messages can't be shaped; use own with net.profile");
  }
  if (std::ssize(world.ranks_on_host()) < world.size()) {
    throw ConfigError(
        fmt::format("net.profile = \"{}\": a network is emulated between ranks of one host, since their clocks and NICs are "
                    "shared; here are several hosts: use net.profile=none to train over their real network",
                    profile->name));
  }
  net::check_carried(*profile, dilation, ranks_per_node(config, world, ranks) > 1);
}

Links::Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile,
             const LinkRequest& request)
    : group_(group), ranks_per_node_(app::ranks_per_node(config, world, group.size())) {
  // Ranks outside the group have no profile of their own, but share() is collective on the world.
  const std::shared_ptr<std::byte[]> memory = world.share(net::NicBoard::size(world.size()));
  share_memory(world, config, profile.has_value(), request.buffers);
  if (group.index < 0) return;
  net::Transport* below = &world.transport();
  if (profile) {
    const net::ShapeOptions options{
        .profile = *profile, .chunk = config.bytes("net.chunk"), .seed = static_cast<std::uint64_t>(config.integer("train.seed"))};
    shaped_ = net::make_shaped(*below, world.wait_context(), options, net::NicBoard(memory, world.size(), ranks_per_node_));
    below = shaped_.get();
  }
  counted_ = std::make_unique<net::CountedTransport>(*below);
  connect_steps(world, config, profile.has_value(), request.choices);
  control_ =
      collective::make_own(world.transport(), group, {.lane = kControlLane, .activity = &world.activities()[1], .clock = &world.clock()});
}

/// Collective on the world; ranks outside the group want none, but take part in making it.
void Links::share_memory(net::World& world, const Config& config, bool is_shaped, Bytes buffers) {
  const auto is_here = [&](int rank) { return std::ranges::find(world.ranks_on_host(), rank) != world.ranks_on_host().end(); };
  const bool wants = group_.index >= 0 && group_.size() > 1 && !is_shaped && config.text("collective.implementation") == "own" &&
                     std::ranges::all_of(group_.ranks, is_here);
  std::int64_t heap = wants ? buffers.value : 0;
  std::vector<std::int64_t> heaps(static_cast<std::size_t>(world.size()));
  const auto everyone = collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = kWorldLane});
  everyone->all_gather_bytes(std::as_bytes(std::span(&heap, 1)), std::as_writable_bytes(std::span(heaps)), net::Purpose::Control);
  heap = *std::ranges::max_element(heaps);
  if (heap == 0) return;
  try {
    const auto memory = world.share(collective::NodeMemory::size(group_.size(), {heap}));
    if (wants) node_ = std::make_unique<collective::NodeMemory>(memory, group_.size(), group_.index, Bytes{heap});
  } catch (const SystemError& error) {
    if (group_.index == 0) log_warn(fmt::format("ranks of this host send messages, since they have no memory in common: {}", error.what()));
  }
}

void Links::connect_steps(net::World& world, const Config& config, bool is_shaped, const std::vector<collective::Choice>& choices) {
  ActivitySlot* const activity = &world.activities()[1];
  if (config.text("collective.implementation") == "native") {
    auto native = collective::make_native_mpi(*world.mpi_comm(), group_, world.wait_context());
    native_ = native.get();
    steps_ = std::move(native);
    return;
  }
  const std::string& algorithm = config.text("collective.algorithm");
  const auto count = [counted = counted_.get()](int to_rank, std::int64_t bytes, net::Purpose purpose) {
    counted->add(to_rank, Bytes{bytes}, purpose);
  };
  auto own = collective::make_own(*counted_, group_,
                                  {.lane = kStepLane,
                                   .algorithm = algorithm == "auto" && is_shaped ? "ring" : algorithm,
                                   .choices = choices,
                                   .activity = activity,
                                   .clock = &world.clock(),
                                   .ranks_per_node = ranks_per_node_,
                                   .node = node_.get(),
                                   .wait = world.wait_context(),
                                   .count = count});
  choices_ = collective::to_text(own->choices());
  steps_ = std::move(own);
}

const std::vector<std::int64_t>& Links::sent() const {
  return native_ != nullptr ? native_->sent() : counted_->sent();
}

Bytes Links::sent_where(bool in_node) const {
  Bytes sum{0};
  const int own = group_.index / ranks_per_node_;
  const std::size_t purposes = net::kPurposes.size();
  for (std::size_t i = 0; i < sent().size(); ++i) {
    const int to = static_cast<int>(i / purposes);
    if ((to / ranks_per_node_ == own) == in_node) sum += Bytes{sent()[i]};
  }
  return sum;
}

Bytes Links::sent_between_nodes() const {
  return sent_where(false);
}

Bytes Links::sent_in_node() const {
  return sent_where(true);
}

std::vector<std::int64_t> Links::all_sent() {
  const auto members = static_cast<std::size_t>(group_.size());
  const std::vector<std::int64_t> mine(sent().begin(), sent().begin() + static_cast<std::ptrdiff_t>(members * net::kPurposes.size()));
  std::vector<std::int64_t> all(mine.size() * members);
  control_->all_gather_bytes(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  return all;
}

}  // namespace twinax::app
