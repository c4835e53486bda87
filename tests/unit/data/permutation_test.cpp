#include "twinax/data/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"

#include "gtest/gtest.h"

namespace twinax::data {
namespace {

std::vector<std::int64_t> whole(const Permutation& order) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < order.size(); ++i) all.push_back(order.at(i));
  return all;
}

TEST(Permutation, HasEachNumberOnceAtEverySize) {
  const Philox random(1, Draw::Test);
  for (std::int64_t size = 1; size <= 300; ++size) {
    auto all = whole(Permutation(size, random.bits(static_cast<std::uint64_t>(size)), size % 7));
    std::ranges::sort(all);
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i) << "of " << size;
  }
}

TEST(Permutation, HasEachNumberOnceAtLargeSizesToo) {
  for (const std::int64_t size : {(1 << 16) - 1, 1 << 16, (1 << 16) + 1, 100'003}) {
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (const std::int64_t number : whole(Permutation(size, 7, 3))) {
      ASSERT_FALSE(seen[static_cast<std::size_t>(number)]) << number << " of " << size;
      seen[static_cast<std::size_t>(number)] = true;
    }
  }
}

TEST(Permutation, IsAPureFunctionOfSizeSeedAndEpoch) {
  EXPECT_EQ(whole(Permutation(1000, 5, 2)), whole(Permutation(1000, 5, 2)));
  EXPECT_NE(whole(Permutation(1000, 5, 2)), whole(Permutation(1000, 6, 2)));
  EXPECT_NE(whole(Permutation(1000, 5, 2)), whole(Permutation(1000, 5, 3)));
  EXPECT_NE(whole(Permutation(1000, 5, 2)), whole(Permutation(1000, 5 + (1ULL << 32), 2)));
}

// Each cell of a table of counts is binomial: all within five standard deviations of the mean.
void expect_even(const std::map<std::pair<std::int64_t, std::int64_t>, int>& counts, int draws, double share, std::size_t cells) {
  const double mean = draws * share;
  const double deviation = std::sqrt(mean * (1 - share));
  EXPECT_EQ(counts.size(), cells);
  for (const auto& [cell, count] : counts) EXPECT_NEAR(count, mean, 5 * deviation) << cell.first << ", " << cell.second;
}

TEST(Permutation, PutsEveryNumberAtEveryPositionEquallyOften) {
  constexpr int kDraws = 5'000;
  for (const std::int64_t size : {2, 3, 5, 11}) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto all = whole(Permutation(size, static_cast<std::uint64_t>(draw), 0));
      for (std::int64_t i = 0; i < size; ++i) ++counts[{i, all[static_cast<std::size_t>(i)]}];
    }
    expect_even(counts, kDraws, 1.0 / static_cast<double>(size), static_cast<std::size_t>(size * size));
  }
}

TEST(Permutation, MakesEveryPairOfNeighboursEquallyOftenOverEpochs) {
  constexpr int kDraws = 5'000;
  constexpr std::int64_t kSize = 6;
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
  for (int epoch = 0; epoch < kDraws; ++epoch) {
    const Permutation order(kSize, 9, epoch);
    ++counts[{order.at(2), order.at(3)}];
  }
  expect_even(counts, kDraws, 1.0 / (kSize * (kSize - 1)), kSize * (kSize - 1));
}

TEST(Permutation, ReachesFarIntoSizesThatNoMemoryHolds) {
  const std::int64_t size = std::int64_t{1} << 62;
  const Permutation order(size, 1, 0);
  int high = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    ASSERT_GE(order.at(i), 0);
    ASSERT_LT(order.at(i), size);
    if (order.at(i) >= size / 2) ++high;
  }
  EXPECT_NEAR(high, 500, 5 * std::sqrt(250.0));
}

TEST(Permutation, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(Permutation(0, 1, 0), InvalidArgument);
  EXPECT_THROW(Permutation((std::int64_t{1} << 62) + 1, 1, 0), InvalidArgument);
  EXPECT_THROW(Permutation(4, 1, -1), InvalidArgument);
  EXPECT_THROW(Permutation(4, 1, std::int64_t{1} << 32), InvalidArgument);
  EXPECT_THROW((void)Permutation(4, 1, 0).at(4), InvalidArgument);
  EXPECT_THROW((void)Permutation(4, 1, 0).at(-1), InvalidArgument);
}

}  // namespace
}  // namespace twinax::data
