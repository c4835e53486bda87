#include "twinax/base/clock.hpp"

#include <ctime>

#include "gtest/gtest.h"

namespace twinax {
namespace {

TEST(SystemClock, ReadsTheHostsMonotonicClock) {
  const SystemClock clock;
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const Seconds now = clock.now();
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_GE(now.value, static_cast<double>(before.tv_sec));
  EXPECT_LE(now.value, static_cast<double>(after.tv_sec) + 1);
}

TEST(SystemClock, NeverRunsBackwards) {
  const SystemClock clock;
  Seconds last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const Seconds now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, NeverSleepsLessThanAsked) {
  use_precise_sleeps();
  SystemClock clock;
  for (const double span_s : {0.0, 1e-6, 1e-4, 2e-3}) {
    const Seconds deadline = clock.now() + Seconds{span_s};
    clock.sleep_until(deadline);
    EXPECT_GE(clock.now(), deadline);
  }
}

TEST(SystemClock, ReturnsFromADeadlineInThePast) {
  SystemClock clock;
  clock.sleep_until(Seconds{-1});
  clock.sleep_until(clock.now() - Seconds{1000});
}

TEST(ThreadCpuTime, GrowsWithWork) {
  const Seconds before = thread_cpu_time();
  volatile double sum = 0;
  for (int i = 0; i < 2'000'000; ++i) sum = sum + i;
  EXPECT_GT(thread_cpu_time(), before);
}

}  // namespace
}  // namespace twinax
