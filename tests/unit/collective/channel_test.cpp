#include "collective/channel.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Keeps the tags of what is sent to it, and says that it is done.
class TagKeeper final : public net::Transport {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  net::Request send(std::span<const std::byte> /*data*/, int /*to_rank*/, net::Tag tag, net::Purpose /*purpose*/) override {
    tags.push_back(tag.value);
    return {};
  }
  net::Request receive(std::span<std::byte> /*into*/, int /*from_rank*/, net::Tag /*tag*/) override { return {}; }
  void progress() override {}
  void wait(net::Request& /*request*/) override {}
  std::vector<std::uint32_t> tags;
};

Channel make_channel(net::Transport& transport, std::uint8_t lane, Bytes segment) {
  return {transport, Group::first(1, 0), lane, segment, nullptr, nullptr};
}

std::vector<std::size_t> sizes_of_segments(const Channel& channel, std::size_t bytes) {
  std::vector<std::byte> piece(bytes);
  std::vector<std::size_t> sizes;
  const std::byte* next = piece.data();
  for (std::size_t k = 0; k < channel.segments(bytes); ++k) {
    const std::span<std::byte> segment = channel.segment(std::span(piece), k);
    EXPECT_TRUE(segment.empty() || segment.data() == next);
    next = segment.data() + segment.size();
    sizes.push_back(segment.size());
  }
  return sizes;
}

TEST(Channel, CutsPiecesIntoSegmentsWithoutGaps) {
  TagKeeper transport;
  const Channel channel = make_channel(transport, 1, Bytes{128});
  EXPECT_THAT(sizes_of_segments(channel, 1), ElementsAre(1));
  EXPECT_THAT(sizes_of_segments(channel, 128), ElementsAre(128));
  EXPECT_THAT(sizes_of_segments(channel, 129), ElementsAre(128, 1));
  EXPECT_THAT(sizes_of_segments(channel, 384), ElementsAre(128, 128, 128));
}

TEST(Channel, SendsAnEmptyPieceAsOneEmptySegment) {
  TagKeeper transport;
  EXPECT_THAT(sizes_of_segments(make_channel(transport, 1, Bytes{128}), 0), ElementsAre(0));
}

TEST(Channel, CutsAtMultiplesOf64Bytes) {
  TagKeeper transport;
  EXPECT_THAT(sizes_of_segments(make_channel(transport, 1, Bytes{191}), 200), ElementsAre(128, 72));
  EXPECT_THAT(sizes_of_segments(make_channel(transport, 1, Bytes{1}), 100), ElementsAre(64, 36));
}

TEST(Channel, CountsTheSegmentsOfPiecesOver2GiB) {
  TagKeeper transport;
  EXPECT_EQ(make_channel(transport, 1, Bytes{1 << 20}).segments((std::size_t{1} << 33) + 1), 8193U);
}

TEST(Channel, GivesNeighbouringOperationsAndOtherLanesOtherTags) {
  TagKeeper transport;
  for (const std::uint8_t lane : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{63}}) {
    Channel channel = make_channel(transport, lane, Bytes{64});
    for (int operation = 0; operation < 1000; ++operation) {
      channel.begin("test", net::Purpose::Control);
      channel.send_later({}, 0);
    }
  }
  std::ranges::sort(transport.tags);
  EXPECT_EQ(transport.tags.size(), 3000U);
  EXPECT_EQ(std::ranges::adjacent_find(transport.tags), transport.tags.end());
  EXPECT_LT(transport.tags.back(), 1U << 22) << "the largest tag that every MPI has";
}

TEST(Channel, KeepsItsTagsInItsLaneHoweverManyOperations) {
  TagKeeper transport;
  Channel channel = make_channel(transport, 2, Bytes{64});
  for (int operation = 0; operation < 40000; ++operation) channel.begin("test", net::Purpose::Control);
  channel.send_later({}, 0);
  EXPECT_EQ(transport.tags.back() >> 14, 2U);
}

TEST(Channel, RefusesARankThatIsNoMember) {
  TagKeeper transport;
  EXPECT_THAT(
      [&] {
        Channel(transport, {.ranks = {1, 2}, .index = -1}, 1, Bytes{64}, nullptr, nullptr);
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("rank 0 is not member -1 of its group of 2")));
  EXPECT_THROW(Channel(transport, {.ranks = {1, 0}, .index = 0}, 1, Bytes{64}, nullptr, nullptr), InvalidArgument);
}

TEST(Channel, RefusesALaneThatTagsDoNotHold) {
  TagKeeper transport;
  EXPECT_THAT([&] { make_channel(transport, 64, Bytes{64}); }, ThrowsMessage<InvalidArgument>(HasSubstr("lane 64 of a tag is over 63")));
}

TEST(Channel, ShowsWhomItWaitsFor) {
  ActivitySlot slot;
  SystemClock clock;
  std::atomic<bool> is_shown{false};
  test::run_members({.world = 4, .ranks = {2, 3}}, [&](net::Transport& transport, const Group& group) {
    Channel channel(transport, group, 1, Bytes{64}, group.index == 0 ? &slot : nullptr, &clock);
    channel.begin("phase", net::Purpose::Control);
    if (group.index == 0) {
      net::Request request = channel.receive({}, 1);
      channel.wait(request, 1);
    } else {
      while (slot.read().waits_for != 3) std::this_thread::yield();
      is_shown = std::string(slot.read().op.data()) == "phase";
      channel.send_later({}, 0);
      channel.wait_sends();
    }
  });
  EXPECT_TRUE(is_shown);
}

}  // namespace
}  // namespace twinax::collective
