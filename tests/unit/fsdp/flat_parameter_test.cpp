#include "twinax/fsdp/flat_parameter.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::fsdp {
namespace {

nn::UnitSpec small_unit() {
  nn::UnitSpec unit{.name = "h.0"};
  unit.parameters = {{.name = "norm", .shape = {10}, .offset = 0, .initial_constant = 1.0},
                     {.name = "weight", .shape = {6, 10}, .offset = 10, .initial_stddev = 0.02, .decays = true},
                     {.name = "bias", .shape = {6}, .offset = 70},
                     {.name = "weight2", .shape = {5, 6}, .offset = 76, .initial_stddev = 0.02, .decays = true}};
  unit.elements = 106;
  return unit;
}

TEST(ShardLayout, CoversAllElementsWithEqualShardsOfWholeCacheLines) {
  for (const std::int64_t elements :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{16}, std::int64_t{17}, std::int64_t{1000}, std::int64_t{3'000'000'000}}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const ShardLayout layout = shard_layout(elements, ranks);
      EXPECT_EQ(layout.shard * ranks, layout.padded);
      EXPECT_GE(layout.padded, elements);
      EXPECT_LT(layout.padded, elements + 16 * ranks) << elements << " over " << ranks;
      EXPECT_EQ(layout.shard % 16, 0);
    }
  }
}

TEST(ShardLayout, RefusesWhatMakesNoSense) {
  EXPECT_THROW((void)shard_layout(-1, 2), InvalidArgument);
  EXPECT_THROW((void)shard_layout(10, 0), InvalidArgument);
}

TEST(DecayRanges, CutsTheDecayedTensorsByTheShard) {
  const nn::UnitSpec unit = small_unit();
  EXPECT_EQ(decay_ranges(unit, 0, 106), (std::vector<tensor::ElementRange>{{10, 70}, {76, 106}}));
  EXPECT_EQ(decay_ranges(unit, 0, 10), (std::vector<tensor::ElementRange>{}));
  EXPECT_EQ(decay_ranges(unit, 32, 32), (std::vector<tensor::ElementRange>{{0, 32}}));
  EXPECT_EQ(decay_ranges(unit, 64, 32), (std::vector<tensor::ElementRange>{{0, 6}, {12, 32}}));
  EXPECT_EQ(decay_ranges(unit, 96, 32), (std::vector<tensor::ElementRange>{{0, 10}})) << "padding does not decay";
}

TEST(FlatParameter, HoldsTheSameInitialValuesHoweverItIsCut) {
  const nn::UnitSpec unit = small_unit();
  const FlatParameter whole(unit, 3, 42, 1, 0);
  for (int ranks = 2; ranks <= 5; ++ranks) {
    std::vector<float> joined;
    for (int r = 0; r < ranks; ++r) {
      const FlatParameter part(unit, 3, 42, ranks, r);
      joined.insert(joined.end(), part.master().begin(), part.master().end());
    }
    for (std::size_t i = 0; i < 106; ++i) EXPECT_EQ(joined[i], whole.master()[i]) << i;
    for (std::size_t i = 106; i < joined.size(); ++i) EXPECT_EQ(joined[i], 0.0F) << i;
  }
}

TEST(FlatParameter, TakesSixteenBytesForEachElementOfItsShard) {
  const FlatParameter part(small_unit(), 0, 1, 2, 1);
  EXPECT_EQ(part.bytes(), Bytes{16 * 64});
}

}  // namespace
}  // namespace twinax::fsdp
