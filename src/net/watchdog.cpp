#include "net/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace twinax::net {

Watchdog::Watchdog(WatchdogOptions options) : options_(std::move(options)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void Watchdog::watch(const std::stop_token& stop) {
  constexpr Seconds kLongestPause{0.1};
  const Seconds pause = std::min(kLongestPause, options_.longest_wait / 10);
  while (!stop.stop_requested()) {
    options_.beat();
    const std::vector<RankState> ranks = options_.look();
    const Seconds now = options_.clock->now();
    if (const auto trouble = find_trouble(ranks, now, options_.longest_wait)) {
      options_.end(*trouble + "; the job ends" + hang_report(ranks, now), ranks);
      return;
    }
    options_.clock->sleep_until(now + pause);
  }
}

}  // namespace twinax::net
