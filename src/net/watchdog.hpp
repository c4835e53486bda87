#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "twinax/base/clock.hpp"

#include "net/hang_report.hpp"

namespace twinax::net {

/// What a watchdog looks at, and what it does.
struct WatchdogOptions {
  Clock* clock = nullptr;
  Seconds longest_wait{60};
  std::vector<std::string> hosts;                                                   ///< of all ranks of the job
  std::function<void()> beat;                                                       ///< gives a sign of life
  std::function<std::vector<RankState>()> look;                                     ///< the ranks that it can see
  std::function<void(const std::string& text, const std::vector<RankState>&)> end;  ///< ends the job; called once
};

/// A thread that ends the job when a rank is gone or frozen, or an operation hangs.
class Watchdog {
 public:
  explicit Watchdog(WatchdogOptions options);

 private:
  void watch(const std::stop_token& stop);

  WatchdogOptions options_;
  std::mutex mutex_;  // protects nothing: a condition needs one
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it stops before the rest goes
};

}  // namespace twinax::net
