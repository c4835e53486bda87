#include "twinax/net/token_bucket.hpp"

#include <cstddef>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/nic.hpp"

namespace twinax::net {
namespace {

TEST(TokenBucket, LetsALargeChunkLeaveLate) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.book({10}, {2}), Seconds{12});
  EXPECT_EQ(bucket.book({10}, {2}), Seconds{14});
}

TEST(TokenBucket, EarnsNothingWhileIdle) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.book({1}, {1}), Seconds{2});
  EXPECT_EQ(bucket.book({1000}, {1}), Seconds{1001});
  EXPECT_EQ(bucket.book({1000}, {1}), Seconds{1002});
}

/// Whatever is posted when: between the ends of any two bookings lies all that was booked after the first.
TEST(TokenBucket, BooksNoMoreInAnyWindowThanTheRateAllows) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> pause(0, 3), length(0.01, 2);
  TokenBucket bucket;
  double now = 0;
  std::vector<double> ends, durations;
  for (int i = 0; i < 500; ++i) {
    now += i % 3 == 0 ? pause(random) : 0;
    durations.push_back(length(random));
    ends.push_back(bucket.book({now}, {durations.back()}).value);
  }
  for (std::size_t first = 0; first < ends.size(); ++first) {
    double booked = 0;
    for (std::size_t last = first + 1; last < ends.size(); ++last) {
      booked += durations[last];
      ASSERT_GE(ends[last] - ends[first], booked - 1e-9) << first << " to " << last;
    }
  }
}

TEST(TokenBucket, LosesNoBookingOfManyThreads) {
  TokenBucket bucket;
  constexpr int kThreads = 4, kBookings = 2000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&bucket] {
        for (int i = 0; i < kBookings; ++i) bucket.book({0}, {1});
      });
    }
  }
  EXPECT_EQ(bucket.booked_until(), Seconds{kThreads * kBookings});
}

TEST(NicBoard, GivesRanksOfOneNodeOneNicAndEachItsOwnInNodeLink) {
  const auto bytes = static_cast<std::size_t>(NicBoard::size(5).value);
  const std::shared_ptr<std::byte[]> memory = std::make_shared<std::byte[]>(bytes);
  const NicBoard board(memory, 5, 2);
  EXPECT_EQ(&board.node_nic(0), &board.node_nic(1));
  EXPECT_NE(&board.node_nic(1), &board.node_nic(2));
  EXPECT_EQ(board.node_of(4), 2);
  EXPECT_NE(&board.in_node_link(0), &board.in_node_link(1));
  const NicBoard other(memory, 5, 2);  // another rank's view of the same memory
  board.node_nic(4).in.book({1}, {2});
  EXPECT_EQ(other.node_nic(4).in.booked_until(), Seconds{3});
  EXPECT_EQ(other.node_nic(4).out.booked_until(), Seconds{0});
  EXPECT_THROW(NicBoard(memory, 5, 0), InvalidArgument);
}

}  // namespace
}  // namespace twinax::net
