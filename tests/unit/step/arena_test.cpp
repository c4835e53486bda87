#include "twinax/step/arena.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "twinax/base/error.hpp"

namespace twinax::step {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMiB = 1 << 20;

Ask ask(std::int64_t size, LaneKind lane = LaneKind::Compute, const char* holder = "buffer") {
  return {.size = {size}, .holder = holder, .lane = lane};
}

TEST(Arena, GivesMemoryOfTheSizeThatWasAsked) {
  Arena arena;
  for (const std::int64_t size : {1, 63, 64, 4096, 4097, 3'000'000, 9'000'000}) {
    const std::span<std::byte> buffer = arena.take(ask(size));
    EXPECT_EQ(std::ssize(buffer), size);
    std::ranges::fill(buffer, std::byte{0xA5});
    EXPECT_EQ(std::ranges::count(buffer, std::byte{0xA5}), size);
  }
}

TEST(Arena, AlignsEveryBufferForVectorUnits) {
  Arena arena;
  for (std::int64_t size = 1; size < 2000; size += 77) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.take(ask(size)).data()) % 512, 0U) << size;
  }
}

TEST(Arena, PutsLargeBuffersAtTheBoundaryOfAHugePage) {
  Arena arena;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.take(ask(5 * kMiB)).data()) % (2 * kMiB), 0U);
}

TEST(Arena, ServesABufferThatCameBackAgain) {
  Arena arena;
  const std::span<std::byte> first = arena.take(ask(1000));
  arena.give(first);
  const std::span<std::byte> second = arena.take(ask(999));
  EXPECT_EQ(first.data(), second.data());
  EXPECT_EQ(arena.reserved(), Bytes{kPage});
}

TEST(Arena, CutsABlockAndMergesItsPartsAgain) {
  Arena arena;
  arena.give(arena.take(ask(8192)));
  const std::span<std::byte> a = arena.take(ask(1000));
  const std::span<std::byte> b = arena.take(ask(3000));
  const std::span<std::byte> c = arena.take(ask(4000));
  EXPECT_EQ(b.data(), a.data() + 1024) << "two grains of 512";
  EXPECT_EQ(c.data(), b.data() + 3072);
  EXPECT_EQ(arena.reserved(), Bytes{8192}) << "all are of the one segment";
  EXPECT_EQ(arena.allocated(), Bytes{8000});
  EXPECT_EQ(arena.active(), Bytes{8192});
  arena.give(a);
  arena.give(c);
  const std::span<std::byte> d = arena.take(ask(8192));
  EXPECT_EQ(arena.reserved(), Bytes{2 * 8192}) << "the middle is held: no block of 8192 is free";
  arena.give(d);
  arena.give(b);
  EXPECT_EQ(arena.active(), Bytes{0});
  (void)arena.take(ask(8192));
  (void)arena.take(ask(8192));
  EXPECT_EQ(arena.reserved(), Bytes{2 * 8192}) << "the parts have become one block again";
}

TEST(Arena, ServesTheSmallestBlockThatFits) {
  Arena arena;
  const std::span<std::byte> large = arena.take(ask(3 * kPage));
  const std::span<std::byte> small = arena.take(ask(kPage));
  arena.give(large);
  arena.give(small);
  EXPECT_EQ(arena.take(ask(kPage)).data(), small.data());
}

TEST(Arena, KeepsSmallBuffersOutOfLargeBlocks) {
  Arena arena;
  arena.give(arena.take(ask(4 * kMiB)));
  (void)arena.take(ask(512));
  EXPECT_EQ(arena.reserved(), Bytes{4 * kMiB + kPage});
  (void)arena.take(ask(4 * kMiB - 512));
  EXPECT_EQ(arena.reserved(), Bytes{4 * kMiB + kPage}) << "nothing small was cut off the large block";
}

TEST(Arena, TakesNoMoreThanItsBudget) {
  Arena arena(Bytes{3 * kPage});
  const std::span<std::byte> one = arena.take(ask(kPage));
  EXPECT_TRUE(arena.try_take(ask(2 * kPage)));
  EXPECT_FALSE(arena.try_take(ask(1)));
  arena.give(one);
  EXPECT_TRUE(arena.try_take(ask(1))) << "what is cached serves without more memory";
  EXPECT_EQ(arena.reserved(), Bytes{3 * kPage});
}

TEST(Arena, GivesCachedSegmentsBackForAnotherLanesSake) {
  Arena arena(Bytes{2 * kPage});
  arena.give(arena.take(ask(2 * kPage, LaneKind::Collective)));
  EXPECT_FALSE(arena.try_take(ask(kPage, LaneKind::Compute))) << "cached memory is another pool's";
  arena.give_back_cached();
  EXPECT_EQ(arena.reserved(), Bytes{0});
  EXPECT_TRUE(arena.try_take(ask(kPage, LaneKind::Compute)));
}

/// Whether the page is mapped at all.
bool is_mapped(std::byte* page) {
  unsigned char resident = 0;
  return mincore(page, kPage, &resident) == 0;
}

TEST(Arena, UnmapsWhatItGivesBackButNotWhatIsHeld) {
  Arena arena;
  const std::span<std::byte> held = arena.take(ask(kPage));
  const std::span<std::byte> half = arena.take(ask(2 * kPage));
  arena.give(half);
  const std::span<std::byte> part = arena.take(ask(512));
  const std::span<std::byte> cached = arena.take(ask(5 * kMiB));
  arena.give(cached);
  EXPECT_TRUE(is_mapped(cached.data()));
  arena.give_back_cached();
  EXPECT_FALSE(is_mapped(cached.data()));
  EXPECT_TRUE(is_mapped(held.data()));
  EXPECT_TRUE(is_mapped(part.data())) << "a segment of which a part is held stays";
  EXPECT_EQ(arena.reserved(), Bytes{3 * kPage});
}

TEST(Arena, SaysWhoHoldsWhatWhenItsBudgetIsSpent) {
  Arena arena(Bytes{10 * kPage});
  (void)arena.take(ask(kPage, LaneKind::Compute, "small"));
  (void)arena.take(ask(6 * kPage, LaneKind::Compute, "activations"));
  arena.give(arena.take(ask(2 * kPage, LaneKind::Collective, "gone")));
  (void)arena.take(ask(kPage, LaneKind::Collective, "small"));
  try {
    (void)arena.take(ask(4 * kPage, LaneKind::Service, "wanted"));
    FAIL() << "the budget has 3 pages left";
  } catch (const OutOfBudget& error) {
    EXPECT_STREQ(
        error.what(),
        "out of the memory budget of 41.0 KB (memory.budget): \"wanted\" takes 16.4 KB more; 32.8 KB are held, in 36.9 KB that are "
        "left when all that was cached is given back: activations 24.6 KB, small 8.19 KB");
  }
  EXPECT_TRUE(arena.try_take(ask(kPage))) << "it goes on working";
}

TEST(Arena, GoesBeyondItsBudgetIfToldToAndTellsOfIt) {
  Arena arena(Bytes{kPage});
  EXPECT_EQ(arena.overdraft(), "");
  EXPECT_EQ(std::ssize(arena.overdraw(ask(3 * kPage, LaneKind::Compute, "gradients"))), 3 * kPage);
  EXPECT_THAT(arena.overdraft(), HasSubstr("\"gradients\" takes 12.3 KB more"));
  (void)arena.overdraw(ask(9 * kPage, LaneKind::Compute, "later"));
  EXPECT_THAT(arena.overdraft(), HasSubstr("\"gradients\" takes")) << "the first counts";
}

TEST(Arena, SaysSoWhereTheSystemHasNoMemory) {
  Arena arena;
  const std::span<std::byte> held = arena.take(ask(kPage));
  try {
    (void)arena.take(ask(std::int64_t{1} << 60));
    FAIL() << "an exbibyte was had";
  } catch (const OutOfBudget& error) {
    EXPECT_THAT(error.what(), HasSubstr("out of memory: \"buffer\" takes"));
  }
  EXPECT_THROW((void)arena.overdraw(ask(std::int64_t{1} << 60)), OutOfBudget);
  EXPECT_EQ(arena.allocated(), Bytes{kPage});
  EXPECT_EQ(arena.reserved(), Bytes{kPage});
  arena.give(held);
  EXPECT_EQ(arena.take(ask(kPage)).data(), held.data()) << "it goes on working";
}

TEST(Arena, CountsPeaksFromTheLastReset) {
  Arena arena;
  const std::span<std::byte> a = arena.take(ask(1000));
  const std::span<std::byte> b = arena.take(ask(500));
  arena.give(a);
  EXPECT_EQ(arena.memory_use().allocated_peak, Bytes{1500});
  EXPECT_EQ(arena.memory_use().active_peak, Bytes{1024 + 512});
  EXPECT_EQ(arena.memory_use().reserved_peak, Bytes{kPage}) << "the second is cut off the first one's page";
  arena.count_retry({0.25});
  arena.count_retry({0.5});
  EXPECT_EQ(arena.memory_use().retries, 2);
  EXPECT_EQ(arena.memory_use().stalled, Seconds{0.75});
  arena.reset_use();
  EXPECT_EQ(arena.memory_use().allocated_peak, Bytes{500}) << "what is held at the reset counts";
  EXPECT_EQ(arena.memory_use().retries, 0);
  arena.give(b);
}

TEST(Arena, GivesBuffersOfNoBytes) {
  Arena arena;
  const std::span<std::byte> nothing = arena.take(ask(0));
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(arena.allocated(), Bytes{0});
  EXPECT_NO_THROW(arena.give(nothing));
}

TEST(Arena, RefusesNegativeSizesAndBudgets) {
  Arena arena;
  EXPECT_THROW((void)arena.take(ask(-1)), InvalidArgument);
  EXPECT_THROW(Arena(Bytes{-1}), InvalidArgument);
}

TEST(Arena, RefusesMemoryThatIsNotItsOwn) {
  Arena arena;
  Arena other;
  std::array<std::byte, 64> own{};
  EXPECT_THROW(arena.give(own), InvalidArgument);
  EXPECT_THROW(arena.give(other.take(ask(64))), InvalidArgument);
  const std::span<std::byte> buffer = arena.take(ask(64));
  EXPECT_THROW(arena.give(buffer.first(63)), InvalidArgument);
  EXPECT_THROW(arena.give(buffer.subspan(1)), InvalidArgument);
  EXPECT_THROW(arena.use(buffer.subspan(1), {.lane = LaneKind::Service, .position = 1}), InvalidArgument);
  EXPECT_EQ(arena.allocated(), Bytes{64});
}

TEST(Arena, RefusesABufferThatComesBackTwice) {
  Arena arena;
  const std::span<std::byte> buffer = arena.take(ask(64));
  arena.give(buffer);
  EXPECT_THROW(arena.give(buffer), InvalidArgument);
  EXPECT_THROW(arena.use(buffer, {.lane = LaneKind::Service, .position = 1}), InvalidArgument);
  EXPECT_EQ(arena.allocated(), Bytes{0});
  EXPECT_NE(arena.take(ask(64)).data(), arena.take(ask(64)).data()) << "nobody shares a buffer";
}

TEST(Arena, HoldsContainersInTheNameOfTheirPurpose) {
  Arena arena(Bytes{4 * kPage});
  {
    std::pmr::vector<double> state(1024, 1.5, &arena.resource("optimizer state"));
    EXPECT_EQ(arena.allocated(), Bytes{8192});
    try {
      state.resize(4096);
      FAIL() << "they take 8 pages";
    } catch (const OutOfBudget& error) {
      EXPECT_THAT(error.what(), HasSubstr(": optimizer state 8.19 KB"));
    }
    EXPECT_EQ(std::ranges::count(state, 1.5), 1024);
  }
  EXPECT_EQ(arena.allocated(), Bytes{0});
  EXPECT_EQ(&arena.resource("a"), &arena.resource("a"));
}

TEST(Arena, TakesFromTheCommonMemoryWhatIsAskedForAsLongAsItLasts) {
  std::array<std::byte, 3 * kPage> given{};
  std::pmr::monotonic_buffer_resource memory(given.data(), given.size(), std::pmr::null_memory_resource());
  const auto is_common = [&](std::span<std::byte> buffer) {
    return buffer.data() >= given.data() && buffer.data() < given.data() + given.size();
  };
  Ask common = ask(100);
  common.in_common = true;
  Arena arena;
  {
    const CommonMemory guard(arena, &memory);
    const std::span<std::byte> first = arena.take(common);
    EXPECT_TRUE(is_common(first));
    EXPECT_EQ(arena.not_in_common(), Bytes{0});
    EXPECT_FALSE(is_common(arena.take(ask(100)))) << "it was not asked for";
    common.size = Bytes{100'000};
    const std::span<std::byte> second = arena.take(common);
    EXPECT_FALSE(is_common(second));
    EXPECT_EQ(arena.not_in_common(), Bytes{25 * kPage});
    EXPECT_THROW(arena.set_common(nullptr), InvalidArgument) << "some is held";
    arena.give(first);
    arena.give(second);
  }
  EXPECT_EQ(arena.reserved(), Bytes{kPage});
  EXPECT_FALSE(is_common(arena.take(common)));
}

}  // namespace
}  // namespace twinax::step
