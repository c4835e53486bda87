#include <atomic>

#include <gtest/gtest.h>

#include "collective/algorithms.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

TEST(BarrierDissemination, LetsNoMemberGoBeforeAllHaveCome) {
  constexpr int kRounds = 20;
  for (const test::Members& members : test::every_group()) {
    std::atomic<int> arrivals{0};
    test::run_members(members, [&](net::Transport& transport, const Group& group) {
      Channel channel(transport, group, 1, Bytes{64}, nullptr, nullptr);
      for (int round = 1; round <= kRounds; ++round) {
        ++arrivals;
        barrier_dissemination(channel);
        EXPECT_GE(arrivals.load(), round * group.size()) << "round " << round << ", " << members.text();
      }
    });
    EXPECT_EQ(arrivals.load(), kRounds * members.size());
  }
}

}  // namespace
}  // namespace twinax::collective
