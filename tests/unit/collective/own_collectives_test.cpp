#include "twinax/collective/own_collectives.hpp"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/nearest_bf16.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using test::all_of;
using test::run_members;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(OwnCollectives, KeepSmallContributionsOf64RanksWithBf16OnTheWire) {
  // In bf16 1 + 2^-9 is 1: a sum that is kept in bf16, or rounded on its way, stays at 1.
  for (const AlgorithmRow& algorithm : kAlgorithms) {
    run_members(all_of(64), [&](net::Transport& transport, const Group& group) {
      const auto collectives = make_own(transport, group, {.algorithm = std::string(algorithm.name)});
      std::vector<float> whole(64, group.index == 0 ? 1.0F : 0x1.0p-9F);
      std::vector<float> shard(1);
      collectives->reduce_scatter(whole, shard, Dtype::Bf16, net::Purpose::Gradients);
      EXPECT_NEAR(shard[0], 1.125, test::bf16_step(1.125)) << group.index;
      EXPECT_EQ(shard[0], 1.0F + 63 * 0x1.0p-9F) << "fp32 holds every partial sum";
    });
  }
}

TEST(OwnCollectives, CountTo300WithBf16OnTheWire) {
  // A sum in bf16 ends at 256, since 256 + 1 is 256 there.
  run_members(all_of(300), [&](net::Transport& transport, const Group& group) {
    const auto collectives = make_own(transport, group, {});
    std::vector<float> ones{1.0F};
    collectives->all_reduce(ones, Dtype::Bf16, net::Purpose::Gradients);
    EXPECT_NEAR(ones[0], 300, test::bf16_step(300)) << group.index;
  });
}

TEST(OwnCollectives, OfTwoLanesDoNotMeet) {
  run_members(all_of(3), [](net::Transport& transport, const Group& group) {
    const auto first = make_own(transport, group, {.lane = 1});
    const auto second = make_own(transport, group, {.lane = 2});
    for (int round = 0; round < 20; ++round) {
      std::vector<double> ones{1.0};
      std::vector<double> twos{2.0};
      // The first to finish goes on to the other lane while others still wait in this one.
      first->all_reduce(ones, net::Purpose::Metrics);
      second->all_reduce(twos, net::Purpose::Metrics);
      EXPECT_EQ(ones[0], 3.0);
      EXPECT_EQ(twos[0], 6.0);
    }
  });
}

TEST(OwnCollectives, EndWithPeerLostWhenAMemberFails) {
  std::atomic<int> lost{0};
  EXPECT_THAT(
      [&] {
        run_members(all_of(4), [&](net::Transport& transport, const Group& group) {
          if (group.index == 2) throw InvalidArgument("member 2 failed");
          const auto collectives = make_own(transport, group, {});
          std::vector<float> values(5000, 1.0F);
          try {
            collectives->all_reduce(values, Dtype::Fp32, net::Purpose::Gradients);
          } catch (const PeerLost&) {
            ++lost;
            throw;
          }
        });
      },
      ThrowsMessage<InvalidArgument>("member 2 failed"));
  EXPECT_EQ(lost.load(), 3);
}

TEST(OwnCollectives, RefuseAnAlgorithmThatIsNotKnown) {
  run_members(all_of(1), [](net::Transport& transport, const Group& group) {
    EXPECT_THAT([&] { (void)make_own(transport, group, {.algorithm = "tree"}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("\"tree\" is not known: auto, ring, pairwise")));
  });
}

TEST(OwnCollectives, RefuseARankOutsideTheGroup) {
  test::run_loopback(2, [](net::Transport& transport) {
    if (transport.rank() == 0) return;
    EXPECT_THROW((void)make_own(transport, Group::first(1, 1), {}), InvalidArgument);
  });
}

}  // namespace
}  // namespace twinax::collective
