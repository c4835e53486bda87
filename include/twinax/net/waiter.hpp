#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"

namespace twinax::net {

/// What all waits of one rank share. What it points to outlives every transport made with it.
struct WaitContext {
  Clock* clock = nullptr;                              ///< what sleeps are timed by
  const std::atomic<std::uint32_t>* ending = nullptr;  ///< not 0: the job is ending, waits throw; may be null
  ActivitySlot* activity = nullptr;                    ///< where waits are shown for hang reports; may be null
  bool has_spare_cores = false;                        ///< more cores than busy threads: a wait may spin for a while
  bool has_core_each = false;                          ///< as many cores as ranks of the host: a wait may spin for microseconds
};

/// How the waits of one rank (or lane) go: it holds what one wait teaches the next. Threads: one at a time.
class Waiter {
 public:
  explicit Waiter(const WaitContext& context) : context_(context) {}
  /// The context it was made with.
  [[nodiscard]] const WaitContext& context() const { return context_; }

 private:
  friend class Wait;
  WaitContext context_;
  int yields_to_skip_ = 0;  // waits that sleep at once, since yielding cost a time slice
};

/// One wait in progress: `for (Wait wait(waiter, peer); !is_done();) wait.rest();`
///
/// It spins only where there are cores to spare, then yields as long as that is cheap, then sleeps with a back-off from 20 to 200 us (after
/// 0.1 s: 1% of the wait so far, up to 5 ms). From the first sleep on the activity slot shows whom it waits for. Throws PeerLost once the
/// job is ending.
class Wait {
 public:
  /// `peer`: the rank that is waited for, -1 for none: such a wait is never reported as a hang.
  Wait(Waiter& waiter, int peer) : waiter_(waiter), peer_(peer) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait();

  /// Lets others run between two looks at what is waited for.
  void rest() { rest_until(Seconds{std::numeric_limits<double>::infinity()}); }
  /// As long as a wait is young: spins or yields once. False, at once, when it is time to sleep.
  [[nodiscard]] bool rest_awake();
  /// The same as rest(), but not beyond `deadline`.
  void rest_until(Seconds deadline);
  /// Sleeps until `deadline` (at most 50 ms at a time): nothing can be done before it.
  void sleep_until(Seconds deadline);
  /// To be called before a sleep by other means: shows whom it waits for, and throws PeerLost if the job is ending.
  void before_sleep();

 private:
  void check_ending() const;
  bool spin_or_yield();

  Waiter& waiter_;
  int peer_;
  int polls_ = 0;
  bool is_shown_ = false;
  Seconds began_{0};
  Seconds pause_{0};
};

}  // namespace twinax::net
