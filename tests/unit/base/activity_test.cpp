#include "twinax/base/activity.hpp"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "gtest/gtest.h"

namespace twinax {
namespace {

static_assert(std::is_trivially_copyable_v<Activity>);

std::string_view op_of(const Activity& activity) {
  return activity.op.data();
}

TEST(ActivitySlot, IsIdleAtFirst) {
  const Activity now = ActivitySlot().read();
  EXPECT_EQ(op_of(now), "");
  EXPECT_EQ(now.unit, -1);
  EXPECT_EQ(now.step, -1);
  EXPECT_EQ(now.waits_for, -1);
}

TEST(ActivitySlot, ShowsTheOpThatBegan) {
  ActivitySlot slot;
  slot.begin("gather h.3", 4, 17, Seconds{2});
  const Activity now = slot.read();
  EXPECT_EQ(op_of(now), "gather h.3");
  EXPECT_EQ(now.unit, 4);
  EXPECT_EQ(now.step, 17);
  EXPECT_EQ(now.since, Seconds{2});
}

TEST(ActivitySlot, ShowsWhomTheOpWaitsForAndKeepsUnitAndStep) {
  ActivitySlot slot;
  slot.begin("gather h.3", 4, 17, Seconds{2});
  slot.wait_for("all_gather/ring step 3 of 7", 5, Seconds{3});
  const Activity now = slot.read();
  EXPECT_EQ(op_of(now), "all_gather/ring step 3 of 7");
  EXPECT_EQ(now.waits_for, 5);
  EXPECT_EQ(now.unit, 4);
  EXPECT_EQ(now.step, 17);
  EXPECT_EQ(now.since, Seconds{3});
  slot.begin("reduce h.3", 4, 17, Seconds{4});
  EXPECT_EQ(slot.read().waits_for, -1);
}

TEST(ActivitySlot, ForgetsWhenIdle) {
  ActivitySlot slot;
  slot.begin("gather h.3", 4, 17, Seconds{2});
  slot.idle();
  EXPECT_EQ(op_of(slot.read()), "");
  EXPECT_EQ(slot.read().step, -1);
}

TEST(ActivitySlot, CutsLongNamesAndLeavesNothingOfOldOnes) {
  ActivitySlot slot;
  slot.begin(std::string(100, 'x'), 0, 0, Seconds{0});
  EXPECT_EQ(op_of(slot.read()), std::string(63, 'x'));
  slot.begin("y", 0, 0, Seconds{0});
  EXPECT_EQ(op_of(slot.read()), "y");
}

TEST(ActivitySlot, IsNeverReadHalfWritten) {
  ActivitySlot slot;
  slot.begin("even", 0, 0, Seconds{0});
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) slot.begin(i % 2 == 0 ? "even" : "odd", i % 2, i, Seconds{static_cast<double>(i)});
  });
  for (int i = 0; i < 2000; ++i) {
    const Activity now = slot.read();
    EXPECT_EQ(op_of(now), now.step % 2 == 0 ? "even" : "odd");
    EXPECT_EQ(now.unit, now.step % 2);
    EXPECT_EQ(now.since.value, static_cast<double>(now.step));
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace twinax
