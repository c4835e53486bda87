#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "twinax/base/units.hpp"

namespace twinax::net {

/// Watches over the time in which ranks find each other, when no other watchdog can: it calls `late` once if it still exists after
/// `longest`. A wrong network device, say, makes MPI wait for ever.
class StartGuard {
 public:
  StartGuard(Seconds longest, std::function<void()> late);

 private:
  std::mutex mutex_;  // protects nothing: a condition needs one
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it stops before the rest goes
};

/// What to print when ranks have not found each other: this host, its devices with their addresses, and how to choose one.
[[nodiscard]] std::string start_advice(Seconds waited);

}  // namespace twinax::net
