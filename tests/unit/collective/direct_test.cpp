#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/collective/node_memory.hpp"
#include "twinax/collective/own_collectives.hpp"

#include "collective/direct/memory.hpp"
#include "support/nearest_bf16.hpp"
#include "support/node_members.hpp"

namespace twinax::collective {
namespace {

using test::Buffers;

constexpr Bytes kHeap{1 << 20};

/// Runs direct collectives of `ranks` threads.
void on_direct(int ranks, Buffers buffers, const OwnOptions& options, const std::function<void(Collectives&, net::Transport&)>& body) {
  const auto memory = test::common_memory(ranks, kHeap);
  test::run_loopback(ranks, [&](net::Transport& transport, const net::WaitContext& wait) {
    test::with_direct(transport, wait, Group::first(ranks, transport.rank()), memory, kHeap, buffers, options,
                      [&](Collectives& collectives) { body(collectives, transport); });
  });
}

std::vector<float> given(int index, std::size_t elements) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(Philox(9, Draw::Test, static_cast<std::uint32_t>(index)).normal(i));
  return values;
}

TEST(DirectCollectives, SumToTheBitsOfThePairwiseAlgorithm) {
  for (const Buffers buffers : {Buffers::Private, Buffers::Heap, Buffers::NoRoom}) {
    on_direct(3, buffers, {}, [](Collectives& direct, net::Transport& transport) {
      const auto pairwise = make_own(transport, direct.group(), {.lane = 2, .algorithm = "pairwise"});
      for (const Dtype wire : {Dtype::Fp32, Dtype::Bf16}) {
        for (const std::size_t n : {5U, 1111U, 7000U}) {
          std::vector<float> whole = given(direct.group().index, 3 * n);
          whole[0] = -0.0F;
          std::vector<float> shard(n);
          std::vector<float> expected(n);
          std::vector<float> copy = whole;
          pairwise->reduce_scatter(copy, expected, wire, net::Purpose::Gradients);
          copy = whole;
          direct.reduce_scatter(copy, shard, wire, net::Purpose::Gradients);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(shard[i]), std::bit_cast<std::uint32_t>(expected[i])) << i << " of " << n;
          }
          std::vector<float> mine = whole;
          copy = whole;
          pairwise->all_reduce(copy, wire, net::Purpose::Gradients);
          direct.all_reduce(mine, wire, net::Purpose::Gradients);
          for (std::size_t i = 0; i < mine.size(); ++i) {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(mine[i]), std::bit_cast<std::uint32_t>(copy[i])) << i << " of " << mine.size();
          }
        }
      }
    });
  }
}

TEST(DirectCollectives, LeaveBuffersToTheirCallerOnReturn) {
  // HeapBuffer overwrites a buffer as soon as a call returns, and the next operation reuses its place with other values.
  for (const Buffers buffers : {Buffers::Heap, Buffers::Mixed}) {
    on_direct(4, buffers, {}, [](Collectives& direct, net::Transport& /*transport*/) {
      const auto me = static_cast<std::size_t>(direct.group().index);
      for (std::size_t round = 0; round < 60; ++round) {
        const std::size_t n = round % 3 == 0 ? 3 : 3000 + round;
        std::vector<float> shard(n, static_cast<float>(100 * round + me));
        std::vector<float> whole(4 * n);
        direct.all_gather(shard, whole, Dtype::Fp32, net::Purpose::Parameters);
        for (std::size_t m = 0; m < 4; ++m) ASSERT_EQ(whole[m * n + n / 2], static_cast<float>(100 * round + m)) << round;
        std::vector<float> gradients(4 * n, static_cast<float>(round));
        direct.reduce_scatter(gradients, shard, Dtype::Fp32, net::Purpose::Gradients);
        ASSERT_EQ(shard[n - 1], static_cast<float>(4 * round));
        std::vector<float> values(n, static_cast<float>(round + me));
        direct.all_reduce(values, Dtype::Fp32, net::Purpose::Gradients);
        ASSERT_EQ(values[n - 1], static_cast<float>(4 * round + 6));
        std::vector<std::byte> data(n * 4, static_cast<std::byte>(round + me));
        const int root = static_cast<int>(round % 4);
        direct.broadcast(data, root, net::Purpose::Control);
        ASSERT_EQ(data.back(), static_cast<std::byte>(round + round % 4));
        if (round % 7 == 0) direct.barrier();
      }
    });
  }
}

TEST(DirectCollectives, LetARootRunAheadNoFurtherThanItsSlots) {
  on_direct(3, Buffers::Private, {}, [](Collectives& direct, net::Transport& /*transport*/) {
    for (int round = 0; round < 500; ++round) {
      std::vector<std::byte> data(64, direct.group().index == 1 ? static_cast<std::byte>(round) : std::byte{0});
      direct.broadcast(data, 1, net::Purpose::Control);
      ASSERT_EQ(data[63], static_cast<std::byte>(round)) << round;
    }
  });
}

/// What each of 2 members is told that its peer reads.
std::int64_t counted(Buffers buffers, const std::function<void(Collectives&)>& body) {
  std::vector<std::atomic<std::int64_t>> told(2);
  const auto memory = test::common_memory(2, kHeap);
  test::run_loopback(2, [&](net::Transport& transport, const net::WaitContext& wait) {
    const int me = transport.rank();
    OwnOptions options;
    options.count = [&told, me](int to_rank, std::int64_t bytes, net::Purpose purpose) {
      EXPECT_EQ(to_rank, 1 - me);
      EXPECT_EQ(purpose, net::Purpose::Gradients);
      told[static_cast<std::size_t>(me)] += bytes;
    };
    test::with_direct(transport, wait, Group::first(2, me), memory, kHeap, buffers, options, body);
  });
  EXPECT_EQ(told[0], told[1]);
  return told[0];
}

TEST(DirectCollectives, CountWhatIsReadFromEachMember) {
  for (const Buffers buffers : {Buffers::Private, Buffers::Heap}) {
    for (const std::size_t n : {std::size_t{16}, std::size_t{8000}}) {
      std::vector<float> unused;
      const auto bytes = static_cast<std::int64_t>(n * sizeof(float));
      EXPECT_EQ(counted(buffers,
                        [n](Collectives& direct) {
                          const std::vector<float> shard(n);
                          std::vector<float> whole(2 * n);
                          direct.all_gather(shard, whole, Dtype::Fp32, net::Purpose::Gradients);
                        }),
                bytes);
      EXPECT_EQ(counted(buffers,
                        [n](Collectives& direct) {
                          std::vector<float> whole(2 * n);
                          std::vector<float> shard(n);
                          direct.reduce_scatter(whole, shard, Dtype::Fp32, net::Purpose::Gradients);
                        }),
                bytes);
      // One slice is read to be summed, and the sum of the other.
      EXPECT_EQ(counted(buffers,
                        [n](Collectives& direct) {
                          std::vector<float> values(n);
                          direct.all_reduce(values, Dtype::Fp32, net::Purpose::Gradients);
                        }),
                bytes);
    }
  }
}

TEST(DirectCollectives, EndWithPeerLostWhenAMemberFails) {
  EXPECT_THAT(
      [] {
        on_direct(3, Buffers::Heap, {}, [](Collectives& direct, net::Transport& /*transport*/) {
          if (direct.group().index == 2) throw InvalidArgument("member 2 failed");
          std::vector<float> values(5000, 1.0F);
          EXPECT_THROW(direct.all_reduce(values, Dtype::Fp32, net::Purpose::Gradients), PeerLost);
        });
      },
      ::testing::ThrowsMessage<InvalidArgument>("member 2 failed"));
}

TEST(DirectCollectives, AreWhatAutoMeansInANode) {
  const auto memory = test::common_memory(2, kHeap);
  test::run_loopback(2, [&](net::Transport& transport, const net::WaitContext& wait) {
    const Group group = Group::first(2, transport.rank());
    NodeMemory node(memory, 2, group.index, kHeap);
    const auto names = [&](const OwnOptions& options) {
      std::string text;
      const auto collectives = make_own(transport, group, options);
      for (const Choice& choice : collectives->choices()) text += choice.algorithm + " ";
      return text;
    };
    EXPECT_EQ(names({.node = &node, .wait = wait}), "direct direct direct direct ");
    EXPECT_EQ(names({}), "ring ring exchange ring tree ");
    EXPECT_EQ(names({.algorithm = "direct"}), "ring pairwise pairwise tree ") << "there is no memory in common";
    EXPECT_EQ(names({.choices = {{.operation = Operation::AllGather, .algorithm = "exchange"}}, .node = &node, .wait = wait}),
              "exchange direct direct direct ");
  });
}

TEST(NodeMemory, IsAHeapThatMergesWhatComesBack) {
  const auto memory = test::common_memory(2, Bytes{16 * 4096});
  NodeMemory node(memory, 2, 1, Bytes{16 * 4096});
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(node.allocate(4000, 64));
  EXPECT_THROW((void)node.allocate(1, 1), std::bad_alloc);
  for (int i = 0; i < 16; i += 2) node.deallocate(blocks[static_cast<std::size_t>(i)], 4000, 64);
  EXPECT_THROW((void)node.allocate(4097, 64), std::bad_alloc) << "no two free pages are neighbours";
  for (int i = 1; i < 16; i += 2) node.deallocate(blocks[static_cast<std::size_t>(i)], 4000, 64);
  void* const all = node.allocate(16 * 4096, 64);
  EXPECT_EQ(node.at(node.offset_of(all, 16 * 4096).value()), all);
  node.deallocate(all, 16 * 4096, 64);
}

TEST(NodeMemory, KnowsItsOwnBuffersFromOthers) {
  const auto memory = test::common_memory(2, kHeap);
  NodeMemory mine(memory, 2, 0, kHeap);
  NodeMemory theirs(memory, 2, 1, kHeap);
  auto* const block = static_cast<std::byte*>(mine.allocate(4096, 64));
  EXPECT_TRUE(mine.offset_of(block + 64, 4032).has_value());
  EXPECT_FALSE(theirs.offset_of(block, 4096).has_value());
  EXPECT_FALSE(mine.offset_of(block, static_cast<std::size_t>(kHeap.value) + 1).has_value());
  const int local = 0;
  EXPECT_FALSE(mine.offset_of(&local, sizeof local).has_value());
  EXPECT_THROW(NodeMemory(memory, 2, 2, kHeap), InvalidArgument);
  mine.deallocate(block, 4096, 64);
}

TEST(DirectMemory, CopiesAnySizeToAnyPlace) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{4} << 20) + 77}) {
    for (const std::size_t shift : {0U, 1U, 31U}) {
      std::vector<std::byte> from(bytes);
      for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
      std::vector<std::byte> into(bytes + shift + 1, std::byte{0xee});
      direct::copy(from, into.data() + shift);
      ASSERT_TRUE(std::equal(from.begin(), from.end(), into.begin() + static_cast<std::ptrdiff_t>(shift))) << bytes << " at " << shift;
      EXPECT_EQ(into.back(), std::byte{0xee});
    }
  }
}

TEST(OwnCollectives, RefuseChoicesThatAnOperationDoesNotHave) {
  test::run_members(test::all_of(1), [](net::Transport& transport, const Group& group) {
    EXPECT_THROW((void)make_own(transport, group, {.choices = {{.operation = Operation::AllGather, .algorithm = "tree"}}}),
                 InvalidArgument);
  });
}

}  // namespace
}  // namespace twinax::collective
