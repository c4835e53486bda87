#pragma once

#include "twinax/base/units.hpp"

namespace twinax {

/// Time as an argument: nothing below `app` reads a clock or sleeps except through one of these.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  /// Seconds since a fixed moment of the host; all processes of a host agree on it.
  [[nodiscard]] virtual Seconds now() const = 0;
  /// Sleeps until `deadline`, never less; returns at once if it is past.
  virtual void sleep_until(Seconds deadline) = 0;
};

/// CLOCK_MONOTONIC with absolute sleeps. Threads: any.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Seconds now() const override;
  void sleep_until(Seconds deadline) override;
};

/// Sets this thread's timer slack to 1 ns, so that short sleeps end on time (50 us by default on Linux). Call once per thread that waits.
void use_precise_sleeps() noexcept;

/// CPU time that the calling thread has used.
[[nodiscard]] Seconds thread_cpu_time();

}  // namespace twinax
