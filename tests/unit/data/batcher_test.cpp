#include "twinax/data/batcher.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/scratch_folder.hpp"

namespace twinax::data {
namespace {

using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;

/// A text whose token i is i: what a sequence holds says where it is from.
TokenFile counting(const ScratchFolder& folder, std::int64_t size) {
  write_token_file(folder / "a.tokens", {.tokenizer = "numbers", .text_path = "/texts/a.txt", .text_state = 0, .vocabulary = 65'536},
                   [&](const auto& take) {
                     std::vector<std::int32_t> all(static_cast<std::size_t>(size));
                     std::iota(all.begin(), all.end(), 0);
                     take(all);
                   });
  return TokenFile(folder / "a.tokens");
}

std::vector<std::int32_t> training(const Batcher& batcher, std::int64_t index) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(batcher.context() + 1));
  batcher.training_sequence(index, out);
  return out;
}

std::vector<std::int32_t> held_out(const Batcher& batcher, std::int64_t block) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(batcher.context() + 1));
  batcher.held_out_sequence(block, out);
  return out;
}

TEST(Share, CutsABatchIntoSharesThatJoinToIt) {
  const Philox random(1, Draw::Test);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto batch = static_cast<std::int64_t>(random.bits(2 * i) % 100);
    const auto ranks = static_cast<int>(random.bits(2 * i + 1) % 20 + 1);
    std::int64_t end = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Share mine = share(batch, rank, ranks);
      EXPECT_EQ(mine.begin, end);
      EXPECT_GE(mine.size(), batch / ranks);
      EXPECT_LE(mine.size(), (batch + ranks - 1) / ranks);
      end = mine.end;
    }
    EXPECT_EQ(end, batch);
  }
}

TEST(Share, GivesTheFirstRanksWhatIsLeftOver) {
  EXPECT_EQ(share(10, 0, 4), (Share{.begin = 0, .end = 3}));
  EXPECT_EQ(share(10, 1, 4), (Share{.begin = 3, .end = 6}));
  EXPECT_EQ(share(10, 2, 4), (Share{.begin = 6, .end = 8}));
  EXPECT_EQ(share(2, 3, 4), (Share{.begin = 2, .end = 2}));
  EXPECT_EQ(share(std::int64_t{1} << 60, 1, 2).end, std::int64_t{1} << 60);
}

TEST(Share, RefusesARankThatIsNot) {
  EXPECT_THROW((void)share(10, 4, 4), InvalidArgument);
  EXPECT_THROW((void)share(10, -1, 4), InvalidArgument);
  EXPECT_THROW((void)share(10, 0, 0), InvalidArgument);
  EXPECT_THROW((void)share(-1, 0, 1), InvalidArgument);
}

TEST(Batcher, CutsBlocksOfTheContextAndTheTokenAfter) {
  const ScratchFolder folder;
  const Batcher batcher(counting(folder, 41), 4, 1, 0.0);
  EXPECT_EQ(batcher.blocks(), 10);
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto sequence = training(batcher, i);
    const std::int64_t first = batcher.training_block(i) * 4;
    for (std::int64_t t = 0; t <= 4; ++t) EXPECT_EQ(sequence[static_cast<std::size_t>(t)], first + t);
  }
}

TEST(Batcher, HasOneBlockFewerWhenTheLastTargetIsMissing) {
  const ScratchFolder folder;
  EXPECT_EQ(Batcher(counting(folder, 41), 4, 1, 0.0).blocks(), 10);
  EXPECT_EQ(Batcher(counting(folder, 40), 4, 1, 0.0).blocks(), 9);
  EXPECT_EQ(Batcher(counting(folder, 5), 4, 1, 0.0).blocks(), 1);
  EXPECT_EQ(Batcher(counting(folder, 2), 1, 1, 0.0).blocks(), 1);
}

// The case of a shuffle that was seeded with the rank: a text of 1,024 blocks, 1 to 4 ranks on one global batch, over two epochs.
TEST(Batcher, GivesEachStepTheSameBlocksForAnyNumberOfRanks) {
  const ScratchFolder folder;
  constexpr std::int64_t kBlocks = 1024;
  constexpr std::int64_t kBatch = 14;  // divides neither by 3 nor by 4, and doesn't divide the epoch
  const TokenFile tokens = counting(folder, kBlocks * 16 + 1);
  std::vector<std::vector<std::int32_t>> of_one_rank;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::vector<Batcher> batchers(static_cast<std::size_t>(ranks), Batcher(tokens, 16, 42, 0.0));  // each rank has its own
    for (std::int64_t step = 0; step < 2 * kBlocks / kBatch; ++step) {
      std::vector<std::int32_t> firsts;
      for (int rank = 0; rank < ranks; ++rank) {
        const Share mine = share(kBatch, rank, ranks);
        for (auto i = mine.begin; i < mine.end; ++i) {
          firsts.push_back(training(batchers[static_cast<std::size_t>(rank)], step * kBatch + i).front());
        }
      }
      if (ranks == 1) of_one_rank.push_back(firsts);
      ASSERT_EQ(firsts, of_one_rank[static_cast<std::size_t>(step)]) << "step " << step << " of " << ranks << " ranks";
    }
  }
}

TEST(Batcher, GivesEachBlockOnceAnEpochAndTheNextEpochAnotherOrder) {
  const ScratchFolder folder;
  const Philox random(3, Draw::Test);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto context = static_cast<std::int64_t>(random.bits(3 * i) % 9 + 1);
    const auto blocks = static_cast<std::int64_t>(random.bits(3 * i + 1) % 500 + 20);
    const Batcher batcher(counting(folder, blocks * context + 1), context, random.bits(3 * i + 2), 0.0);
    ASSERT_EQ(batcher.blocks(), blocks);
    std::set<std::vector<std::int64_t>> orders;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> order;
      for (std::int64_t at = 0; at < blocks; ++at) order.push_back(batcher.training_block(epoch * blocks + at));
      EXPECT_TRUE(orders.insert(order).second) << "epoch " << epoch << " repeats an order";
      std::ranges::sort(order);
      for (std::int64_t block = 0; block < blocks; ++block) ASSERT_EQ(order[static_cast<std::size_t>(block)], block);
    }
  }
}

TEST(Batcher, OrdersBySeed) {
  const ScratchFolder folder;
  const TokenFile tokens = counting(folder, 1001);
  const auto order = [&](std::uint64_t seed) {
    const Batcher batcher(tokens, 10, seed, 0.0);
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < 100; ++i) all.push_back(batcher.training_block(i));
    return all;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Batcher, NeverTrainsOnATokenThatIsHeldOut) {
  const ScratchFolder folder;
  const Philox random(2, Draw::Test);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto size = static_cast<std::int64_t>(random.bits(3 * i) % 2000 + 100);
    const auto context = static_cast<std::int64_t>(random.bits(3 * i + 1) % 30 + 1);
    const double share_held = random.uniform(3 * i + 2) * 0.5;
    const Batcher batcher(counting(folder, size), context, i, share_held);
    std::int32_t last_trained = 0;
    for (std::int64_t at = 0; at < batcher.blocks(); ++at) last_trained = std::max(last_trained, training(batcher, at).back());
    const auto kept = static_cast<std::int64_t>(static_cast<double>(size) * share_held);  // tokens [size - kept, size)
    EXPECT_LT(last_trained, size - kept);
    EXPECT_EQ(batcher.held_out_blocks(), std::max<std::int64_t>(kept - 1, 0) / context);
    for (std::int64_t block = 0; block < batcher.held_out_blocks(); ++block) {
      const auto sequence = held_out(batcher, block);
      EXPECT_EQ(sequence.front(), size - kept + block * context);
      EXPECT_EQ(sequence.back(), sequence.front() + context);
    }
  }
}

TEST(Batcher, HasNoHeldOutBlocksWhereTheirPartIsShorterThanOne) {
  const ScratchFolder folder;
  const Batcher batcher(counting(folder, 100), 10, 1, 0.1);
  EXPECT_EQ(batcher.held_out_blocks(), 0);
  std::vector<std::int32_t> out(11);
  EXPECT_THROW(batcher.held_out_sequence(0, out), InvalidArgument);
}

TEST(Batcher, SaysWhichTextIsTooShortForWhat) {
  const ScratchFolder folder;
  try {
    const Batcher batcher(counting(folder, 130), 128, 1, 0.05);
    FAIL() << "made batches";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/texts/a.txt"), HasSubstr("130 tokens, 124 without"),
                                    HasSubstr("128 tokens, by model.context, needs 129")));
  }
  EXPECT_THROW(Batcher(counting(folder, 0), 1, 1, 0.0), FileError);
  EXPECT_THROW(Batcher(counting(folder, 1), 1, 1, 0.0), FileError);
}

TEST(Batcher, RefusesArgumentsThatMakeNoBatches) {
  const ScratchFolder folder;
  const TokenFile tokens = counting(folder, 100);
  EXPECT_THROW(Batcher(tokens, 0, 1, 0.0), InvalidArgument);
  EXPECT_THROW(Batcher(tokens, 4, 1, 1.0), InvalidArgument);
  EXPECT_THROW(Batcher(tokens, 4, 1, -0.1), InvalidArgument);
  EXPECT_THROW(Batcher(tokens, 4, 1, std::numeric_limits<double>::quiet_NaN()), InvalidArgument);
  const Batcher batcher(tokens, 4, 1, 0.1);
  std::vector<std::int32_t> four(4);
  EXPECT_THROW(batcher.training_sequence(0, four), InvalidArgument);
  EXPECT_THROW((void)batcher.training_block(-1), InvalidArgument);
}

}  // namespace
}  // namespace twinax::data
