#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"

#include "collective/algorithms.hpp"
#include "support/nearest_bf16.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using test::every_group;
using test::Members;
using test::run_members;
using test::through_bf16;

constexpr Bytes kSegment{64};
const std::vector<std::size_t> kSizes{0, 1, 15, 16, 17, 300};  // elements of a piece; a segment holds 16 in fp32

/// What member `index` gives to element i of the whole.
float given(int index, std::size_t i) {
  return static_cast<float>(Philox(3, Draw::Test, static_cast<std::uint32_t>(index)).normal(i));
}

std::vector<float> whole_of(int index, std::size_t elements) {
  std::vector<float> whole(elements);
  for (std::size_t i = 0; i < elements; ++i) whole[i] = given(index, i);
  return whole;
}

/// The reference: the sum over members, in their order and in fp64, and the size of its terms.
struct Sum {
  double value = 0;
  double size = 0;
};
Sum sum_of(int members, std::size_t i, Dtype wire) {
  Sum sum;
  for (int index = 0; index < members; ++index) {
    const float part = wire == Dtype::Bf16 ? through_bf16(given(index, i)) : given(index, i);
    sum.value += static_cast<double>(part);
    sum.size += std::fabs(static_cast<double>(part));
  }
  return sum;
}

void expect_sums(const Channel& channel, std::span<const float> shard, Dtype wire) {
  for (std::size_t i = 0; i < shard.size(); ++i) {
    const Sum sum = sum_of(channel.size(), static_cast<std::size_t>(channel.index()) * shard.size() + i, wire);
    // Adding P numbers in fp32, in any order, is off by at most (P - 1) half steps of the sum of their sizes.
    EXPECT_NEAR(static_cast<double>(shard[i]), sum.value, (channel.size() - 1) * 0x1.0p-24 * sum.size)
        << "element " << i << " of " << shard.size() << ", member " << channel.index() << " of " << channel.size();
  }
}

void on_every_group_and_size(const std::function<void(Channel&, std::size_t)>& body) {
  for (const Members& members : every_group()) {
    run_members(members, [&](net::Transport& transport, const Group& group) {
      Channel channel(transport, group, 1, kSegment, nullptr, nullptr);
      for (const std::size_t n : kSizes) body(channel, n);
    });
  }
}

TEST(ReduceScatterRing, LeavesEachMemberWithItsSliceOfTheSum) {
  on_every_group_and_size([](Channel& channel, std::size_t n) {
    std::vector<float> whole = whole_of(channel.index(), static_cast<std::size_t>(channel.size()) * n);
    std::vector<float> shard(n, std::nanf(""));
    std::vector<float> scratch(2 * n, std::nanf(""));
    reduce_scatter_ring(channel, whole, shard, scratch, net::Purpose::Gradients);
    expect_sums(channel, shard, Dtype::Fp32);
  });
}

class ReduceScatterPairwise : public ::testing::TestWithParam<Dtype> {};

TEST_P(ReduceScatterPairwise, LeavesEachMemberWithItsSliceOfTheSum) {
  on_every_group_and_size([](Channel& channel, std::size_t n) {
    const std::vector<float> whole = whole_of(channel.index(), static_cast<std::size_t>(channel.size()) * n);
    std::vector<float> shard(n, std::nanf(""));
    std::vector<std::byte> scratch;
    for (int round = 0; round < 2; ++round) reduce_scatter_pairwise(channel, whole, shard, scratch, GetParam(), net::Purpose::Gradients);
    expect_sums(channel, shard, GetParam());
    EXPECT_EQ(whole, whole_of(channel.index(), whole.size()));
  });
}

TEST_P(ReduceScatterPairwise, SumsInTheGroupsOrder) {
  // 1 + 2^24 - 2^24 in fp32 is 0 from the left, 1 in other orders.
  const std::vector<float> parts{1.0F, 0x1.0p24F, -0x1.0p24F};
  run_members({.world = 4, .ranks = {3, 0, 2}}, [&](net::Transport& transport, const Group& group) {
    Channel channel(transport, group, 1, kSegment, nullptr, nullptr);
    const std::vector<float> whole(3, parts[static_cast<std::size_t>(group.index)]);
    std::vector<float> shard(1);
    std::vector<std::byte> scratch;
    reduce_scatter_pairwise(channel, whole, shard, scratch, GetParam(), net::Purpose::Gradients);
    EXPECT_EQ(shard[0], 0.0F) << "member " << group.index;
  });
}

INSTANTIATE_TEST_SUITE_P(Wire, ReduceScatterPairwise, ::testing::Values(Dtype::Fp32, Dtype::Bf16),
                         [](const auto& wire) { return wire.param == Dtype::Fp32 ? "fp32" : "bf16"; });

}  // namespace
}  // namespace twinax::collective
