#include "twinax/base/clock.hpp"

#include <cerrno>
#include <cmath>
#include <ctime>

#include <sys/prctl.h>

namespace twinax {
namespace {

Seconds read(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);  // can't fail for the two clocks used here
  return {static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9};
}

}  // namespace

Seconds SystemClock::now() const {
  return read(CLOCK_MONOTONIC);
}

void SystemClock::sleep_until(Seconds deadline) {
  if (deadline <= now()) return;
  timespec until{};
  const double whole = std::floor(deadline.value);
  until.tv_sec = static_cast<time_t>(whole);
  until.tv_nsec = static_cast<long>((deadline.value - whole) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void use_precise_sleeps() noexcept {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

Seconds thread_cpu_time() {
  return read(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace twinax
