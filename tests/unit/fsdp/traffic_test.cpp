#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/fsdp/bound.hpp"
#include "twinax/fsdp/trainer.hpp"
#include "twinax/net/counted.hpp"
#include "twinax/nn/gpt.hpp"

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

constexpr int kNodes = 2;
constexpr int kPerNode = 2;
constexpr int kRanks = kNodes * kPerNode;
constexpr nn::GptShape kWide{.layers = 3, .width = 32, .heads = 2, .context = test::kContext, .vocabulary = 128, .tied = true};

/// What a step moved, as counted, and as its bound knows.
struct Moved {
  std::vector<std::int64_t> into_node = std::vector<std::int64_t>(kNodes);  ///< parameters and gradients, from ranks of other nodes
  double bound_bytes = 0;
};

Moved train_a_step(Strategy strategy, const std::string& algorithm, std::int64_t micro_batches, Dtype wire = Dtype::Fp32) {
  std::vector<std::vector<std::int64_t>> sent(kRanks);  // by rank: [to rank][purpose]
  Moved moved;
  twinax::test::run_loopback(kRanks, [&](net::Transport& transport) {
    net::CountedTransport counted(transport);
    const test::Groups groups(counted, kRanks, kPerNode, {.algorithm = algorithm, .ranks_per_node = kPerNode});
    tensor::Matmul matmul;
    const auto model = nn::make_gpt<float>(kWide, 1, matmul);
    SystemClock clock;
    step::Arena arena;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, groups.get(), executor, {.strategy = strategy, .wire = wire, .micro_batches = micro_batches});
    const std::vector<std::int32_t> tokens = test::tokens_of(0, transport.rank() * micro_batches, micro_batches, kRanks * micro_batches);
    (void)trainer.step(
        0,
        {.tokens = tokens, .sequences = micro_batches, .length = test::kContext, .global_tokens = kRanks * micro_batches * test::kContext});
    sent[static_cast<std::size_t>(transport.rank())] = counted.sent();
    if (transport.rank() != 0) return;
    const std::vector<Seconds> none(trainer.plan().stages.size());
    const ComputeTimes times{.forward = none, .backward = none, .optimize = none};
    const net::Profile profile{.rate = {1.0}, .in_node_rate = {1.0}};
    moved.bound_bytes = BoundCost(trainer.built(), trainer.plan(), times, &profile, kPerNode, algorithm == "hierarchical").roofline().value;
  });
  for (std::size_t from = 0; from < kRanks; ++from) {
    for (std::size_t to = 0; to < kRanks; ++to) {
      if (from / kPerNode == to / kPerNode) continue;
      for (const net::Purpose purpose : {net::Purpose::Parameters, net::Purpose::Gradients}) {
        moved.into_node[to / kPerNode] += sent[from][to * net::kPurposes.size() + static_cast<std::size_t>(purpose)];
      }
    }
  }
  return moved;
}

/// Bytes of units as they are sharded over `shards` ranks.
struct Model {
  explicit Model(int shards) {
    for (const nn::UnitSpec& unit : nn::gpt_units(kWide)) {
      last_unit = 4 * shard_layout(unit.elements, shards).padded;
      whole += last_unit;
    }
  }
  std::int64_t whole = 0;
  std::int64_t last_unit = 0;
};

/// The closed forms of bytes into a node, for n nodes and W ranks: M of the model, m of its last block, which needs no second gather.
std::int64_t expected_bytes(Strategy strategy, bool is_hierarchical) {
  const auto share = [&](std::int64_t bytes) { return is_hierarchical ? bytes * (kNodes - 1) / kNodes : bytes * (kRanks - 1) / kRanks; };
  const Model sharded(kRanks);
  // The root is gathered once and reduced once; blocks are gathered twice, but for the last.
  const std::int64_t root = 4 * shard_layout(nn::gpt_units(kWide).front().elements, kRanks).padded;
  switch (strategy) {
    case Strategy::Full:
      return share(3 * sharded.whole - root - sharded.last_unit);
    case Strategy::Keep:
      return share(2 * sharded.whole);
    case Strategy::Hybrid:
      return 2 * Model(kPerNode).whole * (kNodes - 1) / kNodes;
    case Strategy::Replicate:
      return share(2 * Model(1).whole);
  }
  return 0;
}

class EveryStrategy : public ::testing::TestWithParam<std::tuple<Strategy, std::string>> {};

TEST_P(EveryStrategy, BringsTheBytesOfTheClosedFormIntoEachNode) {
  const auto [strategy, algorithm] = GetParam();
  const std::int64_t expected = expected_bytes(strategy, algorithm == "hierarchical");
  const Moved moved = train_a_step(strategy, algorithm, 1);
  EXPECT_EQ(moved.into_node, std::vector<std::int64_t>(kNodes, expected));
  EXPECT_EQ(moved.bound_bytes, static_cast<double>(expected)) << "what the lower bound counts";
}

INSTANTIATE_TEST_SUITE_P(Traffic, EveryStrategy,
                         ::testing::Combine(::testing::Values(Strategy::Full, Strategy::Keep, Strategy::Hybrid, Strategy::Replicate),
                                            ::testing::Values("ring", "hierarchical")));

/// A piece of int8: a byte a value and an fp32 scale for every 64 of them.
std::int64_t int8_bytes(std::int64_t values) {
  return values + (values + 63) / 64 * 4;
}

TEST(Traffic, OfInt8IsThatOfItsClosedForm) {
  // Contributions go straight to where they are summed: from each of the other node's ranks to each of this one's.
  std::int64_t kept = 0;
  std::int64_t hybrid = 0;
  std::int64_t replicated = 0;
  for (const nn::UnitSpec& unit : nn::gpt_units(kWide)) {
    const std::int64_t piece = int8_bytes(shard_layout(unit.elements, kRanks).shard);
    kept += (kRanks - 1) * piece + kPerNode * (kRanks - kPerNode) * piece;
    // Between nodes each of two places sums its shard with the other node's: half of it as int8, half of the sum as bf16.
    const std::int64_t half = shard_layout(unit.elements, kPerNode).shard / 2;
    hybrid += kPerNode * (int8_bytes(half) + 2 * half);
    const std::int64_t part = shard_layout(unit.elements, 1).padded / kRanks;
    replicated += kPerNode * (kRanks - kPerNode) * int8_bytes(part) + (kRanks - 1) * 2 * part;
  }
  for (const auto& [strategy, expected] :
       {std::pair{Strategy::Keep, kept}, std::pair{Strategy::Hybrid, hybrid}, std::pair{Strategy::Replicate, replicated}}) {
    const Moved moved = train_a_step(strategy, "ring", 1, Dtype::Int8);
    EXPECT_EQ(moved.into_node, std::vector<std::int64_t>(kNodes, expected)) << static_cast<int>(strategy);
    EXPECT_EQ(moved.bound_bytes, static_cast<double>(expected)) << static_cast<int>(strategy);
  }
}

TEST(Traffic, OfHybridBetweenNodesDoesNotGrowWithTheMicroBatches) {
  EXPECT_EQ(train_a_step(Strategy::Hybrid, "ring", 3).into_node, train_a_step(Strategy::Hybrid, "ring", 1).into_node);
}

}  // namespace
}  // namespace twinax::fsdp
