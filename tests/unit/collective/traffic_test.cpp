#include "twinax/collective/traffic.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/collective/own_collectives.hpp"

#include "support/counting_transport.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

constexpr std::size_t kPiece = 1500;  // elements: enough that an all-reduce of one rank isn't taken for small, and no whole segment

/// What the members send to each other in one operation.
test::SentBytes sent_by(int ranks, const std::string& algorithm, const std::function<void(Collectives&)>& operation) {
  test::SentBytes sent(ranks);
  test::run_members(test::all_of(ranks), [&](net::Transport& transport, const Group& group) {
    test::CountingTransport counting(transport, sent);
    operation(*make_own(counting, group, {.algorithm = algorithm, .segment = Bytes{1024}}));
  });
  return sent;
}

void expect_as_counted(Operation operation, const std::string& algorithm, int ranks, Dtype wire, test::SentBytes sent) {
  const Bytes whole{static_cast<std::int64_t>(kPiece) * ranks * size_of(wire).value};
  for (const int ranks_per_node : {1, 2, 3, 4, 8}) {
    const Traffic said = traffic(operation, algorithm, whole, ranks, ranks_per_node);
    const auto where = std::to_string(ranks) + " ranks, " + std::to_string(ranks_per_node) + " a node, " + algorithm;
    EXPECT_EQ(said.into_node.value, sent.most_into_node(ranks_per_node)) << where;
    EXPECT_EQ(said.into_rank.value, sent.most_into_rank(ranks_per_node)) << where;
    EXPECT_EQ(said.through_pair.value, sent.most_through_pair(ranks_per_node)) << where;
  }
}

class CountedTraffic : public ::testing::TestWithParam<Dtype> {};

TEST_P(CountedTraffic, OfAGatherIsItsClosedForm) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    const auto sent = sent_by(ranks, "ring", [&](Collectives& collectives) {
      const std::vector<float> shard(kPiece);
      std::vector<float> whole(kPiece * static_cast<std::size_t>(ranks));
      collectives.all_gather(shard, whole, GetParam(), net::Purpose::Parameters);
    });
    expect_as_counted(Operation::AllGather, "ring", ranks, GetParam(), sent);
  }
}

TEST_P(CountedTraffic, OfAReductionIsItsClosedForm) {
  for (const std::string algorithm : {"ring", "pairwise"}) {
    const std::string used = GetParam() == Dtype::Bf16 ? "pairwise" : algorithm;
    for (int ranks = 1; ranks <= 7; ++ranks) {
      const auto sent = sent_by(ranks, algorithm, [&](Collectives& collectives) {
        std::vector<float> whole(kPiece * static_cast<std::size_t>(ranks));
        std::vector<float> shard(kPiece);
        collectives.reduce_scatter(whole, shard, GetParam(), net::Purpose::Gradients);
      });
      expect_as_counted(Operation::ReduceScatter, used, ranks, GetParam(), sent);
    }
  }
}

TEST_P(CountedTraffic, OfAnAllReduceIsThatOfItsPaddedLength) {
  for (const std::string algorithm : {"ring", "pairwise"}) {
    const std::string used = GetParam() == Dtype::Bf16 ? "pairwise" : algorithm;
    for (int ranks = 1; ranks <= 7; ++ranks) {
      const std::size_t length = kPiece * static_cast<std::size_t>(ranks) - static_cast<std::size_t>(ranks - 1);
      const auto sent = sent_by(ranks, algorithm, [&](Collectives& collectives) {
        std::vector<float> values(length);
        collectives.all_reduce(values, GetParam(), net::Purpose::Gradients);
      });
      expect_as_counted(Operation::AllReduce, used, ranks, GetParam(), sent);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Wire, CountedTraffic, ::testing::Values(Dtype::Fp32, Dtype::Bf16),
                         [](const auto& wire) { return wire.param == Dtype::Fp32 ? "fp32" : "bf16"; });

TEST(Traffic, OfOneRankIsNothing) {
  for (const auto operation : {Operation::AllGather, Operation::ReduceScatter, Operation::AllReduce}) {
    for (const std::string algorithm : {"ring", "pairwise"}) {
      const Traffic none = traffic(operation, algorithm, Bytes{1000}, 1, 4);
      EXPECT_EQ(none.into_node, Bytes{0});
      EXPECT_EQ(none.into_rank, Bytes{0});
      EXPECT_EQ(none.through_pair, Bytes{0});
      EXPECT_EQ(bound(none, {.rate = gbit_per_s(1), .latency = Seconds{1}, .in_node_rate = gbit_per_s(1)}), Seconds{0});
    }
  }
}

TEST(Traffic, IsExactFarOver2GiB) {
  constexpr std::int64_t kTiB = std::int64_t{1} << 40;
  // 64 ranks, 8 a node, pieces of 1 TiB.
  const Bytes whole{64 * kTiB};
  EXPECT_EQ(traffic(Operation::AllGather, "ring", whole, 64, 8).into_node, Bytes{63 * kTiB});
  EXPECT_EQ(traffic(Operation::AllReduce, "ring", whole, 64, 8).into_rank, Bytes{126 * kTiB});
  EXPECT_EQ(traffic(Operation::ReduceScatter, "pairwise", whole, 64, 8).into_node, Bytes{8 * 56 * kTiB});
  EXPECT_EQ(traffic(Operation::ReduceScatter, "pairwise", whole, 64, 8).into_rank, Bytes{7 * kTiB});
  EXPECT_EQ(traffic(Operation::AllReduce, "pairwise", whole, 64, 8).into_node, Bytes{(8 * 56 + 63) * kTiB});
}

TEST(Traffic, TakesAsLongAsTheSlowerOfTheTwoWays) {
  const net::Profile profile{.rate = gbit_per_s(8),  // 1 GB/s, of which half is reached
                             .achievable = 0.5,
                             .latency = Seconds{0.25},
                             .in_node_rate = gbit_per_s(16),
                             .in_node_latency = Seconds{0.125}};
  EXPECT_DOUBLE_EQ(bound({.into_node = Bytes{1'000'000'000}}, profile).value, 2.25);
  EXPECT_DOUBLE_EQ(bound({.into_rank = Bytes{1'000'000'000}}, profile).value, 0.625);
  EXPECT_DOUBLE_EQ(bound({.into_node = Bytes{500'000'000}, .into_rank = Bytes{4'000'000'000}}, profile).value, 2.125);
  EXPECT_DOUBLE_EQ(bound({.into_node = Bytes{5'000'000'000}, .into_rank = Bytes{4'000'000'000}}, profile).value, 10.25);
}

TEST(Traffic, WaitsForTheOneStreamOfAPair) {
  const net::Profile profile{
      .rate = gbit_per_s(80), .stream_rate = gbit_per_s(8), .latency = Seconds{0.25}, .in_node_rate = gbit_per_s(80)};
  EXPECT_DOUBLE_EQ(bound({.into_node = Bytes{1'000'000'000}, .through_pair = Bytes{500'000'000}}, profile).value, 0.75);
  EXPECT_DOUBLE_EQ(bound({.into_node = Bytes{10'000'000'000}, .through_pair = Bytes{500'000'000}}, profile).value, 1.25);
}

TEST(Traffic, OfHierarchicalAlgorithmsIsItsClosedForm) {
  for (const std::pair<int, int>& sizes : {std::pair{4, 2}, std::pair{6, 2}, std::pair{6, 3}}) {
    const int ranks = sizes.first;
    const int ranks_per_node = sizes.second;
    const std::size_t elements = kPiece * static_cast<std::size_t>(ranks);
    for (const auto operation : {Operation::AllGather, Operation::ReduceScatter, Operation::AllReduce}) {
      test::SentBytes sent(ranks);
      test::run_members(test::all_of(ranks), [&](net::Transport& transport, const Group& group) {
        test::CountingTransport counting(transport, sent);
        const auto collectives = make_own(counting, group, {.algorithm = "hierarchical", .ranks_per_node = ranks_per_node});
        std::vector<float> shard(kPiece);
        std::vector<float> whole(elements);
        if (operation == Operation::AllGather) collectives->all_gather(shard, whole, Dtype::Fp32, net::Purpose::Parameters);
        if (operation == Operation::ReduceScatter) collectives->reduce_scatter(whole, shard, Dtype::Fp32, net::Purpose::Gradients);
        if (operation == Operation::AllReduce) collectives->all_reduce(whole, Dtype::Fp32, net::Purpose::Gradients);
      });
      const Traffic said = traffic(operation, "hierarchical", Bytes{static_cast<std::int64_t>(elements * 4)}, ranks, ranks_per_node);
      EXPECT_EQ(said.into_node.value, sent.most_into_node(ranks_per_node)) << ranks << " by " << ranks_per_node;
      EXPECT_EQ(said.into_rank.value, sent.most_into_rank(ranks_per_node)) << ranks << " by " << ranks_per_node;
      EXPECT_EQ(said.through_pair.value, sent.most_through_pair(ranks_per_node)) << ranks << " by " << ranks_per_node;
    }
  }
}

TEST(Traffic, OfABroadcastIsTheWholeOnce) {
  const Traffic spread = traffic(Operation::Broadcast, "tree", Bytes{1000}, 6, 2);
  EXPECT_EQ(spread.into_node, Bytes{1000});
  EXPECT_EQ(spread.into_rank, Bytes{1000});
  EXPECT_EQ(spread.through_pair, Bytes{1000});
  EXPECT_EQ(traffic(Operation::Broadcast, "tree", Bytes{1000}, 6, 6).into_node, Bytes{0});
  EXPECT_EQ(traffic(Operation::Broadcast, "tree", Bytes{1000}, 6, 1).into_rank, Bytes{0});
}

}  // namespace
}  // namespace twinax::collective
