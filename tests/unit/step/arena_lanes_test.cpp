#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/step/arena.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

constexpr std::int64_t kPage = 4096;

Ask ask(std::int64_t size, LaneKind lane) {
  return {.size = {size}, .holder = "buffer", .lane = lane};
}

TEST(Arena, HasAPoolForEachLane) {
  Arena arena;
  const std::span<std::byte> gathered = arena.take(ask(kPage, LaneKind::Collective));
  arena.give(gathered);
  EXPECT_NE(arena.take(ask(kPage, LaneKind::Compute)).data(), gathered.data());
  EXPECT_EQ(arena.reserved(), Bytes{2 * kPage});
  EXPECT_EQ(arena.take(ask(kPage, LaneKind::Collective)).data(), gathered.data());
}

TEST(Arena, ServesABlockThatAnotherLaneUsesOnlyOnceThatHasPassed) {
  Arena arena;
  const std::span<std::byte> buffer = arena.take(ask(kPage, LaneKind::Collective));
  arena.use(buffer, {.lane = LaneKind::Compute, .position = 7});
  arena.give(buffer);
  EXPECT_EQ(arena.allocated(), Bytes{0});
  EXPECT_EQ(arena.active(), Bytes{kPage}) << "nobody holds it, but a lane may still read it";
  arena.passed({.lane = LaneKind::Compute, .position = 6});
  arena.passed({.lane = LaneKind::Service, .position = 9});
  const std::span<std::byte> other = arena.take(ask(kPage, LaneKind::Collective));
  EXPECT_NE(other.data(), buffer.data());
  arena.passed({.lane = LaneKind::Compute, .position = 7});
  EXPECT_EQ(arena.active(), Bytes{kPage}) << "of the other";
  EXPECT_EQ(arena.take(ask(kPage, LaneKind::Collective)).data(), buffer.data());
}

TEST(Arena, ServesABlockThatItsOwnLaneAloneUsesAtOnce) {
  Arena arena;
  const std::span<std::byte> buffer = arena.take(ask(kPage, LaneKind::Compute));
  arena.use(buffer, {.lane = LaneKind::Compute, .position = 7});
  arena.give(buffer);
  EXPECT_EQ(arena.take(ask(kPage, LaneKind::Compute)).data(), buffer.data()) << "the lane's order protects it";
}

TEST(Arena, KeepsABlockMappedThatItsOwnLaneStillUses) {
  Arena arena(Bytes{2 * kPage});
  const std::span<std::byte> first = arena.take(ask(kPage / 2, LaneKind::Compute));
  const std::span<std::byte> second = arena.take(ask(kPage / 2, LaneKind::Compute));
  arena.use(second, {.lane = LaneKind::Compute, .position = 7});
  arena.give(first);
  arena.give(second);
  EXPECT_EQ(arena.active(), Bytes{0}) << "its lane may have it again at once";
  EXPECT_THROW((void)arena.take(ask(2 * kPage, LaneKind::Collective)), OutOfBudget);
  arena.passed({.lane = LaneKind::Compute, .position = 6});
  arena.give_back_cached();
  EXPECT_EQ(arena.reserved(), Bytes{kPage}) << "a queued op may be about to write to it";
  arena.passed({.lane = LaneKind::Compute, .position = 7});
  EXPECT_NO_THROW((void)arena.take(ask(2 * kPage, LaneKind::Collective)));
}

TEST(Arena, GivesEachRunPositionsThatNoneHadBefore) {
  Arena arena;
  EXPECT_EQ(arena.begin_marks(5), 0U);
  EXPECT_EQ(arena.begin_marks(3), 5U);
  EXPECT_EQ(arena.begin_marks(0), 8U);
}

TEST(Arena, ServesABlockToWhoWaitsForItsUsersAnyway) {
  Arena arena;
  const std::span<std::byte> buffer = arena.take(ask(2 * kPage, LaneKind::Collective));
  arena.use(buffer, {.lane = LaneKind::Compute, .position = 3});
  arena.use(buffer, {.lane = LaneKind::Compute, .position = 5});
  arena.use(buffer, {.lane = LaneKind::Service, .position = 4});
  arena.passed({.lane = LaneKind::Service, .position = 4});
  arena.give(buffer);
  Ask late = ask(kPage, LaneKind::Collective);
  late.waits_for = {4, 0, 0};
  EXPECT_NE(arena.take(late).data(), buffer.data()) << "it waits for too little";
  late.waits_for = {5, 0, 0};
  const std::span<std::byte> first = arena.take(late);
  EXPECT_EQ(first.data(), buffer.data());
  EXPECT_EQ(arena.take(late).data(), buffer.data() + kPage) << "both parts were in use";
  EXPECT_EQ(arena.active(), Bytes{3 * kPage});
  arena.give(first);
  EXPECT_EQ(arena.active(), Bytes{3 * kPage}) << "it waits on";
  arena.passed({.lane = LaneKind::Compute, .position = 5});
  EXPECT_EQ(arena.active(), Bytes{2 * kPage});
}

/// What one lane does to a buffer, as the test remembers it.
struct Held {
  std::span<std::byte> buffer;
  std::byte mark{};
  LaneKind lane = LaneKind::Compute;
  std::array<std::uint64_t, kLanes> used_until{};
};

TEST(Arena, LetsNobodyHaveWhatSomebodyHasInRandomUse) {
  // The obvious reference: a list of what is held and of what lanes still use; whatever is served overlaps none of it.
  test::Numbers numbers(3);
  Arena arena(Bytes{64 * kPage});
  std::vector<Held> held, waiting;
  std::array<std::uint64_t, kLanes> issued{}, passed{};
  const auto overlaps = [](std::span<std::byte> a, std::span<std::byte> b) {
    return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
  };
  int served = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t what = numbers.below(10);
    if (what < 4) {
      const LaneKind lane = static_cast<LaneKind>(numbers.below(kLanes));
      const std::optional<std::span<std::byte>> taken = arena.try_take(ask(100 * numbers.between(0, 120), lane));
      if (!taken) continue;
      ++served;
      for (const Held& other : held) ASSERT_FALSE(overlaps(*taken, other.buffer)) << round;
      for (const Held& other : waiting) ASSERT_FALSE(overlaps(*taken, other.buffer)) << round;
      held.push_back({.buffer = *taken, .mark = static_cast<std::byte>(round), .lane = lane});
      std::ranges::fill(held.back().buffer, held.back().mark);
    } else if (what < 6 && !held.empty()) {
      Held& some = held[numbers.below(held.size())];
      const std::size_t lane = numbers.below(kLanes);
      if (static_cast<LaneKind>(lane) != some.lane) some.used_until[lane] = ++issued[lane];
      arena.use(some.buffer, {.lane = static_cast<LaneKind>(lane), .position = issued[lane]});
      if (static_cast<LaneKind>(lane) != some.lane) continue;
    } else if (what < 9 && !held.empty()) {
      std::swap(held[numbers.below(held.size())], held.back());
      const Held last = held.back();
      held.pop_back();
      ASSERT_EQ(std::ranges::count(last.buffer, last.mark), std::ssize(last.buffer)) << "somebody else wrote into it";
      arena.give(last.buffer);
      waiting.push_back(last);
    } else {
      const std::size_t lane = numbers.below(kLanes);
      passed[lane] = issued[lane];
      arena.passed({.lane = static_cast<LaneKind>(lane), .position = passed[lane]});
      if (numbers.below(4) == 0) arena.give_back_cached();
    }
    std::erase_if(waiting, [&](const Held& some) { return std::ranges::equal(some.used_until, passed, std::ranges::less_equal{}); });
    std::int64_t sum = 0;
    for (const Held& some : held) sum += std::ssize(some.buffer);
    ASSERT_EQ(arena.allocated(), Bytes{sum});
    ASSERT_LE(arena.allocated(), arena.active());
    ASSERT_LE(arena.active(), arena.reserved());
    ASSERT_LE(arena.reserved(), arena.budget());
  }
  EXPECT_GT(served, 1000);
  for (const Held& some : held) arena.give(some.buffer);
  for (std::size_t lane = 0; lane < kLanes; ++lane) arena.passed({.lane = static_cast<LaneKind>(lane), .position = issued[lane]});
  EXPECT_EQ(arena.active(), Bytes{0});
  arena.give_back_cached();
  EXPECT_EQ(arena.reserved(), Bytes{0}) << "all blocks have merged to whole segments";
}

TEST(Arena, ServesThreadsWithoutSharingABuffer) {
  Arena arena;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&arena, t] {
        test::Numbers numbers(t);
        for (int round = 0; round < 1000; ++round) {
          const std::span<std::byte> buffer = arena.take(ask(64 * numbers.between(1, 40), static_cast<LaneKind>(t % kLanes)));
          std::ranges::fill(buffer, static_cast<std::byte>(t));
          ASSERT_EQ(std::ranges::count(buffer, static_cast<std::byte>(t)), std::ssize(buffer));
          arena.give(buffer);
        }
      });
    }
  }
  EXPECT_EQ(arena.active(), Bytes{0});
  EXPECT_LE(arena.memory_use().allocated_peak, Bytes{4 * 64 * 40});
}

}  // namespace
}  // namespace twinax::step
