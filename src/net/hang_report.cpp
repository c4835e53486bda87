#include "net/hang_report.hpp"

#include <string_view>

#include <fmt/format.h>

namespace twinax::net {
namespace {

constexpr std::array<std::string_view, 3> kLaneNames{"compute", "collective", "service"};
constexpr double kSilentShare = 0.8;  // of the longest wait: a frozen rank is told from a slow operation before the others' time is up

std::string place_of(const RankState& state) {
  return fmt::format("rank {} (process {} on {})", state.rank, state.pid, state.host);
}

std::string with_host(int rank, std::span<const std::string> hosts) {
  const auto place = static_cast<std::size_t>(rank);
  return place < hosts.size() ? fmt::format("rank {} on {}", rank, hosts[place]) : fmt::format("rank {}", rank);
}

std::string describe(const Activity& activity, Seconds now) {
  std::string text(activity.op.data());
  if (activity.unit >= 0) text += fmt::format(", unit {}", activity.unit);
  if (activity.step >= 0) text += fmt::format(", step {}", activity.step);
  const double seconds = (now - activity.since).value;
  if (activity.waits_for >= 0) return text + fmt::format(": waits for rank {} since {:.1f} s", activity.waits_for, seconds);
  return text + fmt::format(": since {:.1f} s", seconds);
}

}  // namespace

std::optional<std::string> find_trouble(std::span<const RankState> ranks, Seconds now, Seconds longest_wait,
                                        std::span<const std::string> hosts) {
  for (const RankState& state : ranks) {
    if (state.is_gone) return fmt::format("{} is gone: it was killed, or crashed", place_of(state));
  }
  for (const RankState& state : ranks) {
    if (state.silent > longest_wait * kSilentShare) {
      return fmt::format("{} has given no sign of life for {:.1f} s: it is frozen", place_of(state), state.silent.value);
    }
  }
  for (const RankState& state : ranks) {
    for (const Activity& activity : state.lanes) {
      if (activity.waits_for < 0 || now - activity.since <= longest_wait) continue;
      return fmt::format("{} has waited for {} for {:.1f} s, longer than watchdog.seconds ({:g})", with_host(state.rank, hosts),
                         with_host(activity.waits_for, hosts), (now - activity.since).value, longest_wait.value);
    }
  }
  return std::nullopt;
}

std::string hang_report(std::span<const RankState> ranks, Seconds now) {
  std::string text;
  for (const RankState& state : ranks) {
    if (state.is_gone) {
      text += fmt::format("\n  rank {}: gone", state.rank);
      continue;
    }
    bool is_busy = false;
    for (std::size_t lane = 0; lane < state.lanes.size(); ++lane) {
      const Activity& activity = state.lanes[lane];
      if (activity.op[0] == '\0' && activity.waits_for < 0) continue;
      is_busy = true;
      text += fmt::format("\n  rank {}, {} lane: {}", state.rank, kLaneNames[lane], describe(activity, now));
    }
    if (!is_busy) text += fmt::format("\n  rank {}: between operations", state.rank);
  }
  return text;
}

}  // namespace twinax::net
