#include "net/watchdog.hpp"

#include <algorithm>
#include <chrono>
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
    if (const auto trouble = find_trouble(ranks, now, options_.longest_wait, options_.hosts)) {
      options_.end(*trouble + "; the job ends" + hang_report(ranks, now), ranks);
      return;
    }
    std::unique_lock lock(mutex_);  // not the clock's sleep: the end of the job cuts it short
    stopped_.wait_for(lock, stop, std::chrono::duration<double>(pause.value), [] { return false; });
  }
}

}  // namespace twinax::net
