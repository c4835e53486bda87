#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/bootstrap.hpp"

namespace twinax::net {
namespace {

using ::testing::HasSubstr;

int run(int ranks, const std::function<int(World&)>& body, double longest_wait_s = 60) {
  WorldOptions options;
  options.transport = "loopback";
  options.ranks = ranks;
  options.longest_wait = {longest_wait_s};
  return run_world(options, body);
}

TEST(World, AgreesOnTheErrorOfTheLowestRankForEveryNumberOfRanks) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    for (int lowest = 0; lowest <= ranks; ++lowest) {
      EXPECT_EQ(run(ranks,
                    [&](World& world) {
                      std::optional<std::string> mine;
                      if (world.rank() >= lowest) mine = "error of " + std::to_string(world.rank());
                      const auto first = world.first_error(mine);
                      const std::optional<std::string> expected =
                          lowest < ranks ? std::optional("error of " + std::to_string(lowest)) : std::nullopt;
                      return first == expected ? 0 : 1;
                    }),
                0)
          << ranks << " ranks, lowest " << lowest;
    }
  }
}

TEST(World, HoldsTheBarrierUntilAllHaveArrived) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::atomic<int> arrived{0};
    EXPECT_EQ(run(ranks,
                  [&](World& world) {
                    ++arrived;
                    world.sleep_barrier();
                    return arrived == ranks ? 0 : 1;
                  }),
              0);
  }
}

TEST(World, EndsAllRanksWhenOneFailsAndPrintsItsErrorOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(4,
                [](World& world) -> int {
                  if (world.rank() == 2) throw InvalidArgument("rank 2 has had enough");
                  world.sleep_barrier();
                  return 0;
                }),
            1);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("rank 2: rank 2 has had enough"));
  EXPECT_EQ(printed.find("had enough"), printed.rfind("had enough"));
}

TEST(World, ReportsAWaitThatNeverEnds) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(
                2,
                [](World& world) {
                  if (world.rank() == 0) {
                    std::vector<std::byte> into(8);
                    world.activities()[1].begin("gather", 4, 9, world.clock().now());
                    Request never = world.transport().receive(into, 1, Tag{1});
                    world.transport().wait(never);
                  } else {
                    world.sleep_barrier();
                  }
                  return 0;
                },
                0.3),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("rank 0, collective lane: gather, unit 4, step 9: waits for rank 1"));
}

TEST(World, ListsTheTransportsWhenOneIsUnknown) {
  WorldOptions options;
  options.transport = "pigeons";
  EXPECT_THAT([&] { static_cast<void>(run_world(options, [](World&) { return 0; })); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("\"pigeons\"; there are: mpi, ucx, loopback")));
}

}  // namespace
}  // namespace twinax::net
