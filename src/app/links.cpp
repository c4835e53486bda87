#include "app/links.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/shaped.hpp"

namespace twinax::app {
namespace {

constexpr std::uint8_t kStepLane = 1;
constexpr std::uint8_t kControlLane = 4;

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
  if (!profile) return;
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

Links::Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile)
    : group_(group), ranks_per_node_(app::ranks_per_node(config, world, group.size())) {
  // Ranks outside the group have no profile of their own, but share() is collective on the world.
  const std::shared_ptr<std::byte[]> memory = world.share(net::NicBoard::size(world.size()));
  if (group.index < 0) return;
  net::Transport* below = &world.transport();
  if (profile) {
    const net::ShapeOptions options{
        .profile = *profile, .chunk = config.bytes("net.chunk"), .seed = static_cast<std::uint64_t>(config.integer("train.seed"))};
    shaped_ = net::make_shaped(*below, world.wait_context(), options, net::NicBoard(memory, world.size(), ranks_per_node_));
    below = shaped_.get();
  }
  counted_ = std::make_unique<net::CountedTransport>(*below);
  ActivitySlot* const activity = &world.activities()[1];
  if (config.text("collective.implementation") == "native") {
    auto native = collective::make_native_mpi(*world.mpi_comm(), group, world.wait_context());
    native_ = native.get();
    steps_ = std::move(native);
  } else {
    steps_ = collective::make_own(
        *counted_, group,
        {.lane = kStepLane, .algorithm = config.text("collective.algorithm"), .activity = activity, .clock = &world.clock()});
  }
  control_ = collective::make_own(world.transport(), group, {.lane = kControlLane, .activity = activity, .clock = &world.clock()});
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
