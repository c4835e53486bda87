#include "twinax/step/arena.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory_resource>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

TEST(Arena, GivesMemoryOfTheSizeThatWasAsked) {
  Arena arena;
  for (const std::int64_t size : {1, 63, 64, 4096, 4097, 3'000'000}) {
    const std::span<std::byte> buffer = arena.take({size});
    EXPECT_EQ(std::ssize(buffer), size);
    std::ranges::fill(buffer, std::byte{0xA5});
    EXPECT_EQ(std::ranges::count(buffer, std::byte{0xA5}), size);
  }
}

TEST(Arena, AlignsEveryBufferToACacheLine) {
  Arena arena;
  for (std::int64_t size = 1; size < 200; size += 7) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.take({size}).data()) % 64, 0U) << size;
  }
}

TEST(Arena, ServesABufferThatCameBackAgain) {
  Arena arena;
  const std::span<std::byte> first = arena.take({1000});
  arena.give(first);
  const std::span<std::byte> second = arena.take({1000});
  EXPECT_EQ(first.data(), second.data());
  EXPECT_EQ(arena.reserved(), Bytes{1000});
}

TEST(Arena, DoesNotServeABufferThatIsStillTaken) {
  Arena arena;
  const std::span<std::byte> first = arena.take({1000});
  const std::span<std::byte> second = arena.take({1000});
  EXPECT_NE(first.data(), second.data());
  EXPECT_EQ(arena.reserved(), Bytes{2000});
}

TEST(Arena, CachesBySizeExactly) {
  Arena arena;
  const std::span<std::byte> large = arena.take({1000});
  arena.give(large);
  EXPECT_NE(arena.take({999}).data(), large.data());
  EXPECT_EQ(arena.reserved(), Bytes{1999});
}

TEST(Arena, CountsWhatIsTakenAndItsPeak) {
  Arena arena;
  const std::span<std::byte> a = arena.take({100});
  const std::span<std::byte> b = arena.take({50});
  EXPECT_EQ(arena.active(), Bytes{150});
  arena.give(a);
  EXPECT_EQ(arena.active(), Bytes{50});
  EXPECT_EQ(arena.peak(), Bytes{150});
  arena.reset_peak();
  EXPECT_EQ(arena.peak(), Bytes{50}) << "what is taken at the reset counts";
  arena.give(b);
  EXPECT_EQ(arena.peak(), Bytes{50});
  EXPECT_EQ(arena.reserved(), Bytes{150}) << "cached memory stays held";
}

TEST(Arena, GivesBuffersOfNoBytes) {
  Arena arena;
  const std::span<std::byte> nothing = arena.take({0});
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(arena.active(), Bytes{0});
  EXPECT_NO_THROW(arena.give(nothing));
}

TEST(Arena, RefusesANegativeSize) {
  Arena arena;
  EXPECT_THROW((void)arena.take({-1}), InvalidArgument);
}

TEST(Arena, SaysWhatWasWantedWhereTheSystemHasNoMemory) {
  Arena arena;
  const std::span<std::byte> held = arena.take({4096});
  try {
    (void)arena.take({std::int64_t{1} << 60});
    FAIL() << "an exbibyte was had";
  } catch (const OutOfBudget& error) {
    EXPECT_STREQ(error.what(), "no memory for a buffer of 1152921504606846976 bytes; 4096 bytes are in use and 4096 are held");
  }
  EXPECT_EQ(arena.active(), Bytes{4096});
  EXPECT_THROW((void)arena.take({std::numeric_limits<std::int64_t>::max()}), OutOfBudget);
  arena.give(held);
  EXPECT_EQ(arena.take({4096}).data(), held.data()) << "it goes on working";
}

TEST(Arena, RefusesMemoryThatIsNotItsOwn) {
  Arena arena;
  Arena other;
  std::array<std::byte, 64> own{};
  EXPECT_THROW(arena.give(own), InvalidArgument);
  EXPECT_THROW(arena.give(other.take({64})), InvalidArgument);
  const std::span<std::byte> buffer = arena.take({64});
  EXPECT_THROW(arena.give(buffer.first(63)), InvalidArgument);
  EXPECT_THROW(arena.give(buffer.subspan(1)), InvalidArgument);
  EXPECT_EQ(arena.active(), Bytes{64});
}

TEST(Arena, RefusesABufferThatComesBackTwice) {
  Arena arena;
  const std::span<std::byte> buffer = arena.take({64});
  arena.give(buffer);
  EXPECT_THROW(arena.give(buffer), InvalidArgument);
  EXPECT_EQ(arena.active(), Bytes{0});
  EXPECT_NE(arena.take({64}).data(), arena.take({64}).data()) << "nobody shares a buffer";
}

/// The obvious arena: a count for each size, and a sum.
class NaiveArena {
 public:
  void take(std::int64_t size) {
    if (cached_[size] > 0) {
      --cached_[size];
    } else {
      reserved += size;
    }
    active += size;
    peak = std::max(peak, active);
  }
  void give(std::int64_t size) {
    ++cached_[size];
    active -= size;
  }
  std::int64_t active = 0, peak = 0, reserved = 0;

 private:
  std::map<std::int64_t, int> cached_;
};

TEST(Arena, DoesInRandomUseAsTheObviousOneDoes) {
  test::Numbers numbers(3);
  Arena arena;
  NaiveArena expected;
  struct Taken {
    std::span<std::byte> buffer;
    std::byte mark;
  };
  std::vector<Taken> taken;
  for (int round = 0; round < 5000; ++round) {
    if (taken.empty() || numbers.below(20) < 11) {
      const std::int64_t size = 100 * numbers.between(0, 60);
      expected.take(size);
      taken.push_back({arena.take({size}), static_cast<std::byte>(round)});
      std::ranges::fill(taken.back().buffer, taken.back().mark);
    } else {
      std::swap(taken[numbers.below(taken.size())], taken.back());
      const Taken last = taken.back();
      taken.pop_back();
      ASSERT_EQ(std::ranges::count(last.buffer, last.mark), std::ssize(last.buffer)) << "somebody else wrote into it";
      expected.give(std::ssize(last.buffer));
      arena.give(last.buffer);
    }
    if (numbers.below(100) == 0) {
      arena.reset_peak();
      expected.peak = expected.active;
    }
    ASSERT_EQ(arena.active(), Bytes{expected.active});
    ASSERT_EQ(arena.peak(), Bytes{expected.peak});
    ASSERT_EQ(arena.reserved(), Bytes{expected.reserved});
  }
}

TEST(Arena, ServesThreadsWithoutSharingABuffer) {
  Arena arena;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&arena, t] {
        test::Numbers numbers(t);
        for (int round = 0; round < 1000; ++round) {
          const std::span<std::byte> buffer = arena.take({64 * numbers.between(1, 4)});
          std::ranges::fill(buffer, static_cast<std::byte>(t));
          ASSERT_EQ(std::ranges::count(buffer, static_cast<std::byte>(t)), std::ssize(buffer));
          arena.give(buffer);
        }
      });
    }
  }
  EXPECT_EQ(arena.active(), Bytes{0});
  EXPECT_LE(arena.peak(), Bytes{4 * 256});
}

TEST(Arena, TakesFromTheMemoryGivenAsLongAsItLasts) {
  std::array<std::byte, 3 * 4096> given{};
  std::pmr::monotonic_buffer_resource memory(given.data(), given.size(), std::pmr::null_memory_resource());
  Arena arena(&memory);
  const std::span<std::byte> first = arena.take({100});
  EXPECT_TRUE(first.data() >= given.data() && first.data() < given.data() + given.size());
  EXPECT_EQ(arena.from_system(), Bytes{0});
  const std::span<std::byte> second = arena.take({100'000});
  EXPECT_FALSE(second.data() >= given.data() && second.data() < given.data() + given.size());
  EXPECT_EQ(arena.from_system(), Bytes{100'000});
  EXPECT_EQ(arena.reserved(), Bytes{100'100});
}

}  // namespace
}  // namespace twinax::step
