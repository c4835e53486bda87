#include "app/links.hpp"

#include <algorithm>

#include "twinax/collective/native_mpi.hpp"
#include "twinax/collective/own_collectives.hpp"

namespace twinax::app {
namespace {

constexpr std::uint8_t kStepLane = 1;
constexpr std::uint8_t kControlLane = 4;

}  // namespace

int ranks_per_node(const Config& config, const net::World& world, int ranks) {
  if (const std::int64_t given = config.integer("net.ranks_per_node"); given > 0) return static_cast<int>(std::min<std::int64_t>(given, ranks));
  if (config.text("net.profile") != "none") return 1;
  return static_cast<int>(std::min<std::int64_t>(std::ssize(world.ranks_on_host()), ranks));
}

Links::Links(net::World& world, const Config& config, const collective::Group& group, const std::optional<net::Profile>& profile)
    : group_(group), ranks_per_node_(app::ranks_per_node(config, world, group.size())) {
}

}  // namespace twinax::app
