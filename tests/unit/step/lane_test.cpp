#include "step/lane.hpp"

#include <array>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

namespace twinax::step {
namespace {

TEST(Lane, RunsWorkInTheOrderInWhichItWasPushed) {
  std::vector<int> order;
  {
    Lane lane("test");
    for (int i = 0; i < 1000; ++i) lane.push([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 1000U) << "a lane ends once its queue is empty";
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Lane, RunsAllWorkOnOneThreadOfItsOwn) {
  std::vector<std::thread::id> ids;
  {
    Lane lane("test");
    for (int i = 0; i < 100; ++i) lane.push([&ids] { ids.push_back(std::this_thread::get_id()); });
  }
  for (const std::thread::id id : ids) EXPECT_EQ(id, ids.front());
  EXPECT_NE(ids.front(), std::this_thread::get_id());
}

TEST(Lane, ShowsItsNameToDebuggers) {
  std::string seen;
  {
    std::latch named(1);  // the name is given by the constructor, which may end after the thread has begun
    Lane lane("collective");
    lane.push([&] {
      named.wait();
      std::array<char, 16> name{};
      pthread_getname_np(pthread_self(), name.data(), name.size());
      seen = name.data();
    });
    named.count_down();
  }
  EXPECT_EQ(seen, "collective");
}

TEST(Lane, EndsWhenIdle) {
  for (int i = 0; i < 100; ++i) Lane lane("test");
}

TEST(Lane, FinishesItsQueueWhenEndedWhileBusy) {
  std::latch busy(1);
  std::latch go(1);
  int done = 0;
  std::optional<Lane> lane;
  lane.emplace("test");
  lane->push([&] {
    busy.count_down();
    go.wait();
    ++done;
  });
  for (int i = 0; i < 10; ++i) lane->push([&done] { ++done; });
  busy.wait();
  std::jthread ending([&lane] { lane.reset(); });
  go.count_down();
  ending.join();
  EXPECT_EQ(done, 11);
}

TEST(Lane, TakesWorkFromItsOwnWork) {
  std::vector<int> order;
  {
    std::latch pushed(1);
    Lane lane("test");
    lane.push([&] {
      lane.push([&order] { order.push_back(2); });
      order.push_back(1);
      pushed.count_down();
    });
    pushed.wait();
  }
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(Lane, TakesWorkFromManyThreadsAndKeepsTheOrderOfEach) {
  std::array<std::vector<int>, 4> order;
  {
    Lane lane("test");
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < order.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) lane.push([&order, t, i] { order[t].push_back(i); });
      });
    }
    threads.clear();
  }
  for (const std::vector<int>& mine : order) {
    ASSERT_EQ(mine.size(), 500U);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(mine[static_cast<std::size_t>(i)], i);
  }
}

TEST(Lane, DropsWorkOnceItIsDone) {
  const auto held = std::make_shared<int>(0);
  {
    std::latch later(1);
    Lane lane("test");
    lane.push([held] { ++*held; });
    lane.push([&later] { later.count_down(); });
    later.wait();
    EXPECT_EQ(held.use_count(), 1) << "what the work held is let go before the next begins";
  }
  EXPECT_EQ(*held, 1);
}

TEST(Lane, WorksBesideOtherLanes) {
  // Each lane's first work waits for the other's: one thread for both would hang.
  std::latch both(2);
  Lane a("a");
  Lane b("b");
  a.push([&both] { both.arrive_and_wait(); });
  b.push([&both] { both.arrive_and_wait(); });
}

}  // namespace
}  // namespace twinax::step
