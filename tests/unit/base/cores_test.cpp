#include "twinax/base/cores.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace twinax {
namespace {

TEST(CoreSet, CountsEachCoreOnce) {
  CoreSet set;
  EXPECT_EQ(set.count(), 0);
  for (const std::size_t core : {0U, 63U, 64U, 1500U, 64U}) set.add(core);
  EXPECT_EQ(set.count(), 4);
}

TEST(CoreSet, IsWhatTheThreadsAffinityAllows) {
  const int before = CoreSet::allowed().count();
  ASSERT_GE(before, 1);
  int bound = 0;
  std::thread([&bound] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    bound = CoreSet::allowed().count();
  }).join();
  EXPECT_EQ(bound, 1);
  EXPECT_EQ(CoreSet::allowed().count(), before);
}

TEST(QuotaOf, IsCoresOfAPeriod) {
  EXPECT_EQ(quota_of("150000 100000\n"), 1.5);
  EXPECT_EQ(quota_of("50000 100000"), 0.5);
}

TEST(QuotaOf, IsZeroWithoutALimit) {
  EXPECT_EQ(quota_of("max 100000\n"), 0);
  EXPECT_EQ(quota_of(""), 0);
  EXPECT_EQ(quota_of("-1 100000"), 0);
  EXPECT_EQ(quota_of("100000"), 0);
}

TEST(UsableCores, AreLimitedByTheQuotaOfWhichAPartCountsAsOne) {
  EXPECT_EQ(usable_cores(8, 0), 8);
  EXPECT_EQ(usable_cores(8, 1.5), 2);
  EXPECT_EQ(usable_cores(8, 0.5), 1);
  EXPECT_EQ(usable_cores(8, 20), 8);
}

}  // namespace
}  // namespace twinax
