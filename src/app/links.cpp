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
constexpr std::uint8_t kInNodeLane = 6;
constexpr std::uint8_t kAcrossLane = 7;

bool is_hybrid(const Config& config) {
  return config.text("fsdp.strategy") == "hybrid";
}

/// Every `stride`-th of a group's members from `first` on, `count` of them, among which this rank is.
collective::Group part_of(const collective::Group& group, int first, int stride, int count) {
  collective::Group part;
  for (int i = 0; i < count; ++i)
    part.ranks.push_back(group.ranks[static_cast<std::size_t>(first) + static_cast<std::size_t>(i) * static_cast<std::size_t>(stride)]);
  part.index = (group.index - first) / stride;
  return part;
}

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
  if (const int per_node = ranks_per_node(config, world, ranks); is_hybrid(config) && ranks % per_node != 0) {
    throw ConfigError(fmt::format(
        "fsdp.strategy = \"hybrid\": {} ranks are no whole number of nodes of {}; choose net.ranks_per_node, or another number of ranks",
        ranks, per_node));
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
  node_group_ = group;
  if (is_hybrid(config) && group.index >= 0) {
    node_group_ = part_of(group, group.index / ranks_per_node_ * ranks_per_node_, 1, ranks_per_node_);
  }
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
  const bool wants = group_.index >= 0 && node_group_.size() > 1 && !is_shaped && config.text("collective.implementation") == "own" &&
                     std::ranges::all_of(node_group_.ranks, is_here);
  std::int64_t heap = wants ? buffers.value : 0;
  std::vector<std::int64_t> heaps(static_cast<std::size_t>(world.size()));
  const auto everyone = collective::make_own(world.transport(), collective::Group::first(world.size(), world.rank()), {.lane = kWorldLane});
  everyone->all_gather_bytes(std::as_bytes(std::span(&heap, 1)), std::as_writable_bytes(std::span(heaps)), net::Purpose::Control);
  heap = *std::ranges::max_element(heaps);
  if (heap == 0) return;
  try {
    // Memory for as many groups as there may be; a host touches that of its own. Ranks outside know the sizes by the configuration.
    const int members = is_hybrid(config) ? ranks_per_node_ : group_.size();
    const Bytes one = collective::NodeMemory::size(members, {heap});
    const auto memory = world.share(one * (group_.size() / members));
    if (wants) {
      const std::int64_t at = one.value * (group_.index / members);
      node_ = std::make_unique<collective::NodeMemory>(std::shared_ptr<std::byte[]>(memory, memory.get() + at), members, node_group_.index,
                                                       Bytes{heap});
    }
  } catch (const SystemError& error) {
    if (group_.index == 0) log_warn(fmt::format("ranks of this host send messages, since they have no memory in common: {}", error.what()));
  }
}

std::unique_ptr<collective::Collectives> Links::connect(net::World& world, const Config& config, const collective::Group& group,
                                                        collective::OwnOptions options, bool is_shaped) {
  if (config.text("collective.implementation") == "native") {
    auto native = collective::make_native_mpi(*world.mpi_comm(), group, world.wait_context());
    natives_.push_back(native.get());
    return native;
  }
  const std::string& algorithm = config.text("collective.algorithm");
  options.algorithm = algorithm == "auto" && is_shaped ? "ring" : algorithm;
  options.activity = &world.activities()[1];
  options.clock = &world.clock();
  options.wait = world.wait_context();
  options.count = [counted = counted_.get()](int to_rank, std::int64_t bytes, net::Purpose purpose) {
    counted->add(to_rank, Bytes{bytes}, purpose);
  };
  auto own = collective::make_own(*counted_, group, options);
  if (choices_.empty()) choices_ = collective::to_text(own->choices());
  return own;
}

void Links::connect_steps(net::World& world, const Config& config, bool is_shaped, const std::vector<collective::Choice>& choices) {
  const bool has_nodes = is_hybrid(config);
  if (has_nodes) {
    in_node_ = connect(world, config, node_group_,
                       {.lane = kInNodeLane, .choices = choices, .ranks_per_node = ranks_per_node_, .node = node_.get()}, is_shaped);
    const int place = group_.index % ranks_per_node_;
    across_ = connect(world, config, part_of(group_, place, ranks_per_node_, group_.size() / ranks_per_node_),
                      {.lane = kAcrossLane, .choices = choices}, is_shaped);
  }
  all_ = connect(world, config, group_,
                 {.lane = kStepLane, .choices = choices, .ranks_per_node = ranks_per_node_, .node = has_nodes ? nullptr : node_.get()},
                 is_shaped);
}

std::vector<std::int64_t> Links::sent() const {
  if (natives_.empty()) return counted_->sent();
  std::vector<std::int64_t> sum = natives_.front()->sent();
  for (std::size_t n = 1; n < natives_.size(); ++n) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += natives_[n]->sent()[i];
  }
  return sum;
}

Bytes Links::sent_where(bool in_node) const {
  Bytes sum{0};
  const int own = group_.index / ranks_per_node_;
  const std::size_t purposes = net::kPurposes.size();
  const std::vector<std::int64_t> sent = this->sent();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const int to = static_cast<int>(i / purposes);
    if ((to / ranks_per_node_ == own) == in_node) sum += Bytes{sent[i]};
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
  std::vector<std::int64_t> mine = sent();
  mine.resize(members * net::kPurposes.size());
  std::vector<std::int64_t> all(mine.size() * members);
  control_->all_gather_bytes(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), net::Purpose::Control);
  return all;
}

}  // namespace twinax::app
