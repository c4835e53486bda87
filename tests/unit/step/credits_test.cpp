#include "twinax/step/credits.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

TEST(Credits, AreCountedOutAndBack) {
  Credits credits(3);
  EXPECT_EQ(credits.out(), 0);
  EXPECT_TRUE(credits.take(2));
  EXPECT_EQ(credits.out(), 2);
  EXPECT_TRUE(credits.take(1));
  EXPECT_EQ(credits.out(), 3);
  credits.give(3);
  EXPECT_EQ(credits.out(), 0);
}

TEST(Credits, RememberThePeakUntilItIsReset) {
  Credits credits(0);
  EXPECT_EQ(credits.peak(), 0);
  EXPECT_TRUE(credits.take(5));
  credits.give(4);
  EXPECT_EQ(credits.peak(), 5);
  credits.reset_peak();
  EXPECT_EQ(credits.peak(), 1) << "what is out at the reset counts";
  EXPECT_TRUE(credits.take(1));
  EXPECT_EQ(credits.peak(), 2);
}

TEST(Credits, OfCapacityZeroAreUnlimitedButCounted) {
  Credits credits(0);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(credits.take(1'000'000'000));
  EXPECT_EQ(credits.out(), 1'000'000'000'000);
  EXPECT_EQ(credits.peak(), 1'000'000'000'000);
}

TEST(Credits, MayBeTakenAndGivenByNone) {
  Credits credits(1);
  EXPECT_TRUE(credits.take(0));
  credits.give(0);
  EXPECT_EQ(credits.out(), 0);
}

TEST(Credits, RefuseMoreBackThanAreOut) {
  Credits credits(4);
  EXPECT_TRUE(credits.take(2));
  EXPECT_THROW(credits.give(3), InvalidArgument);
  EXPECT_THROW(credits.give(-1), InvalidArgument);
  EXPECT_EQ(credits.out(), 2) << "a refused give changes nothing";
}

TEST(Credits, RefuseATakeThatCouldNeverBeServed) {
  Credits credits(4);
  EXPECT_THROW((void)credits.take(5), InvalidArgument);
  EXPECT_THROW((void)credits.take(-1), InvalidArgument);
  EXPECT_EQ(credits.out(), 0);
}

TEST(Credits, WaitUntilEnoughHaveComeBack) {
  Credits credits(3);
  EXPECT_TRUE(credits.take(3));
  std::atomic<bool> served = false;
  std::atomic<bool> allowed = false;
  std::jthread waiting([&] {
    EXPECT_TRUE(credits.take(2));
    EXPECT_TRUE(allowed) << "one credit back is not enough for two";
    served = true;
  });
  credits.give(1);
  std::this_thread::yield();
  EXPECT_FALSE(served);
  allowed = true;
  credits.give(1);
  waiting.join();
  EXPECT_EQ(credits.out(), 3);
  EXPECT_EQ(credits.peak(), 3);
}

TEST(Credits, WakeAllThatFit) {
  Credits credits(4);
  EXPECT_TRUE(credits.take(4));
  {
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 4; ++i) waiting.emplace_back([&] { EXPECT_TRUE(credits.take(1)); });
    credits.give(4);
  }
  EXPECT_EQ(credits.out(), 4);
}

TEST(Credits, EndAllWaitsWhenStopped) {
  Credits credits(1);
  EXPECT_TRUE(credits.take(1));
  {
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 3; ++i) waiting.emplace_back([&] { EXPECT_FALSE(credits.take(1)); });
    credits.stop();
  }
  EXPECT_EQ(credits.out(), 1) << "who was sent away has taken nothing";
}

TEST(Credits, StayStopped) {
  Credits credits(2);
  credits.stop();
  EXPECT_FALSE(credits.take(1)) << "though they would be there";
  credits.stop();
  EXPECT_FALSE(credits.take(0));
}

TEST(Credits, CanBeGivenBackToAStoppedPool) {
  Credits credits(2);
  EXPECT_TRUE(credits.take(2));
  credits.stop();
  credits.give(2);
  EXPECT_EQ(credits.out(), 0);
}

TEST(Credits, OfBlocksWaitUntilAllAreBack) {
  Credits credits(2, Refill::All);
  EXPECT_TRUE(credits.take(1));
  credits.give(1);
  EXPECT_TRUE(credits.take(1)) << "the second of the block";
  std::atomic<bool> allowed = false;
  std::jthread waiting([&] {
    EXPECT_TRUE(credits.take(1));
    EXPECT_TRUE(allowed) << "one of the block is out, though the pool holds two";
  });
  std::this_thread::yield();
  EXPECT_EQ(credits.out(), 1);
  allowed = true;
  credits.give(1);
  waiting.join();
  EXPECT_TRUE(credits.take(1)) << "the second of the next block";
  EXPECT_EQ(credits.out(), 2);
  EXPECT_EQ(credits.peak(), 2);
}

TEST(Credits, TakenNowAreThereOrRefused) {
  Credits credits(2);
  credits.take_now(2);
  EXPECT_EQ(credits.peak(), 2);
  EXPECT_THROW(credits.take_now(1), InvalidArgument);
  EXPECT_EQ(credits.out(), 2);
}

class ManyThreads : public ::testing::TestWithParam<int> {};

TEST_P(ManyThreads, NeverHoldMoreThanTheCapacity) {
  const std::int64_t capacity = GetParam();
  Credits credits(capacity);
  std::atomic<std::int64_t> held = 0;
  std::atomic<std::int64_t> most = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        test::Numbers numbers(t);
        for (int round = 0; round < 2000; ++round) {
          const std::int64_t amount = numbers.between(1, capacity);
          ASSERT_TRUE(credits.take(amount));
          const std::int64_t now = held += amount;
          for (std::int64_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          held -= amount;
          credits.give(amount);
        }
      });
    }
  }
  EXPECT_LE(most, capacity);
  EXPECT_LE(credits.peak(), capacity);
  EXPECT_GE(credits.peak(), most) << "the pool sees at least what its users see";
  EXPECT_EQ(credits.out(), 0);
}

INSTANTIATE_TEST_SUITE_P(Credits, ManyThreads, ::testing::Values(1, 2, 3, 7));

}  // namespace
}  // namespace twinax::step
