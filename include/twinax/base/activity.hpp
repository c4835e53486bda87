#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "twinax/base/units.hpp"

namespace twinax {

/// What a lane is doing now: what a hang report is made of. Plain bytes, so that it can be kept in memory shared by processes.
struct Activity {
  std::array<char, 64> op{};    ///< e.g. "gather/all_gather/ring step 3 of 7"; empty when idle
  std::int32_t unit = -1;       ///< the model's unit, -1 if none
  std::int64_t step = -1;       ///< the training step, -1 outside
  std::int32_t waits_for = -1;  ///< the world rank it waits for, -1 if none
  Seconds since{0};             ///< when it began, by the host's Clock
};

/// One lane's current activity. Written by the lane, read by the watchdog. Threads: any.
class ActivitySlot {
 public:
  /// A new op begins; the wait that was shown is over.
  void begin(std::string_view op, int unit, std::int64_t step, Seconds now) {
    const std::scoped_lock lock(mutex_);
    set_op(op);
    now_.unit = unit;
    now_.step = step;
    now_.waits_for = -1;
    now_.since = now;
  }
  /// The op's phase, and whom it waits for; `now` is kept as the beginning of that wait.
  void wait_for(std::string_view phase, int world_rank, Seconds now) {
    const std::scoped_lock lock(mutex_);
    set_op(phase);
    now_.waits_for = world_rank;
    now_.since = now;
  }
  /// Nothing is being done.
  void idle() {
    const std::scoped_lock lock(mutex_);
    now_ = Activity{};
  }
  /// A copy of the current activity.
  [[nodiscard]] Activity read() const {
    const std::scoped_lock lock(mutex_);
    return now_;
  }

 private:
  void set_op(std::string_view op) {
    now_.op.fill('\0');
    op.copy(now_.op.data(), now_.op.size() - 1);
  }
  mutable std::mutex mutex_;  // protects now_; nothing is taken after it
  Activity now_;
};

}  // namespace twinax
