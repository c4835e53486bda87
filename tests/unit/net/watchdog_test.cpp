#include "net/watchdog.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/hang_report.hpp"
#include "net/peer_board.hpp"

namespace twinax::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

Activity activity(const std::string& op, int unit, std::int64_t step, int waits_for, double since) {
  Activity activity;
  op.copy(activity.op.data(), activity.op.size() - 1);
  activity.unit = unit;
  activity.step = step;
  activity.waits_for = waits_for;
  activity.since = {since};
  return activity;
}

TEST(HangReport, SaysWhoWaitsForWhomInWhichOpUnitAndStep) {
  std::vector<RankState> ranks(2);
  ranks[0] = {.rank = 0, .host = "a", .pid = 10, .is_gone = false, .silent = {0}, .lanes = {}};
  ranks[1] = {.rank = 1, .host = "a", .pid = 11, .is_gone = false, .silent = {0}, .lanes = {}};
  ranks[0].lanes[1] = activity("all_gather/ring", 3, 17, 1, 40);
  ranks[1].lanes[0] = activity("backward", 2, 17, -1, 98);
  EXPECT_EQ(hang_report(ranks, {100}),
            "\n  rank 0, collective lane: all_gather/ring, unit 3, step 17: waits for rank 1 since 60.0 s"
            "\n  rank 1, compute lane: backward, unit 2, step 17: since 2.0 s");
  EXPECT_EQ(find_trouble(ranks, {100}, {61}, {}), std::nullopt);
  EXPECT_THAT(find_trouble(ranks, {100}, {59}, {}), Optional(HasSubstr("rank 0 has waited for rank 1 for 60.0 s")));
  const std::vector<std::string> hosts{"a", "b"};
  EXPECT_THAT(find_trouble(ranks, {100}, {59}, hosts), Optional(HasSubstr("rank 0 on a has waited for rank 1 on b for 60.0 s")));
}

TEST(HangReport, TellsKilledAndFrozenRanksFromSlowOnes) {
  std::vector<RankState> ranks(1);
  ranks[0] = {.rank = 4, .host = "b", .pid = 12, .is_gone = false, .silent = {9}, .lanes = {}};
  ranks[0].lanes[0] = activity("forward", 0, 1, -1, 0);
  EXPECT_EQ(find_trouble(ranks, {100}, {60}, {}), std::nullopt);  // computing for 100 s is no hang
  EXPECT_THAT(find_trouble(ranks, {100}, {10}, {}), Optional(HasSubstr("rank 4 (process 12 on b) has given no sign of life for 9.0 s")));
  ranks[0].is_gone = true;
  EXPECT_THAT(find_trouble(ranks, {100}, {60}, {}), Optional(HasSubstr("rank 4 (process 12 on b) is gone")));
}

TEST(Watchdog, EndsTheJobOnce) {
  SystemClock clock;
  std::atomic<int> beats{0}, ends{0};
  std::string text;
  {
    Watchdog watchdog({.clock = &clock,
                       .longest_wait = {0.05},
                       .hosts = {},
                       .beat = [&] { ++beats; },
                       .look =
                           [&] {
                             std::vector<RankState> ranks(1);
                             ranks[0].rank = 2;
                             ranks[0].is_gone = beats > 3;
                             return ranks;
                           },
                       .end =
                           [&](const std::string& said, const std::vector<RankState>&) {
                             text = said;
                             ++ends;
                           }});
    while (ends == 0) clock.sleep_until(clock.now() + Seconds{1e-3});
  }
  EXPECT_EQ(ends, 1);
  EXPECT_THAT(text, HasSubstr("rank 2"));
}

TEST(PeerBoard, ShowsProcessesThatLiveAndNotesThoseThatAreKilled) {
  const auto bytes = static_cast<std::size_t>(PeerBoard::size(2).value);
  const std::shared_ptr<std::byte[]> memory = std::make_shared<std::byte[]>(bytes);
  PeerBoard mine(memory, {0, 5}, 0, "here");
  EXPECT_TRUE(mine.look({1}).empty());  // nobody has shown itself
  LaneActivities lanes;
  lanes[1].begin("gather", 3, 8, {0.5});
  mine.beat(lanes, {1});
  const auto states = mine.look({3});
  ASSERT_EQ(states.size(), 1U);
  EXPECT_FALSE(states[0].is_gone);
  EXPECT_EQ(states[0].silent, Seconds{2});
  EXPECT_STREQ(states[0].lanes[1].op.data(), "gather");
  EXPECT_EQ(states[0].lanes[1].unit, 3);
  EXPECT_TRUE(mine.claim_report());
  EXPECT_FALSE(mine.claim_report());
  mine.leave();
  EXPECT_TRUE(mine.look({1000}).empty());
}

}  // namespace
}  // namespace twinax::net
