#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "collective/algorithms.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using test::every_group;
using test::Members;
using test::run_members;

constexpr Bytes kSegment{64};
const std::vector<std::size_t> kSizes{0, 1, 63, 64, 65, 1000};

/// What member `index` gives, byte by byte, in the `round`-th operation.
std::vector<std::byte> piece_of(int index, std::size_t bytes, int round) {
  std::vector<std::byte> piece(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    piece[i] = static_cast<std::byte>(static_cast<std::size_t>(index) * 41 + i * 3 + static_cast<std::size_t>(round) * 101);
  }
  return piece;
}

/// The reference: pieces one after the other.
std::vector<std::byte> whole_of(int size, std::size_t bytes, int round) {
  std::vector<std::byte> whole;
  for (int index = 0; index < size; ++index) {
    const std::vector<std::byte> piece = piece_of(index, bytes, round);
    whole.insert(whole.end(), piece.begin(), piece.end());
  }
  return whole;
}

/// A buffer of which only the own piece is known.
std::vector<std::byte> with_own_piece(const Channel& channel, std::size_t bytes, int round) {
  std::vector<std::byte> whole(static_cast<std::size_t>(channel.size()) * bytes, std::byte{0xee});
  std::ranges::copy(piece_of(channel.index(), bytes, round), whole.begin() + channel.index() * static_cast<std::ptrdiff_t>(bytes));
  return whole;
}

void on_every_group_and_size(const std::function<void(Channel&, std::size_t)>& body) {
  for (const Members& members : every_group()) {
    run_members(members, [&](net::Transport& transport, const Group& group) {
      Channel channel(transport, group, 1, kSegment, nullptr, nullptr);
      for (const std::size_t bytes : kSizes) body(channel, bytes);
    });
  }
}

TEST(AllGatherRing, LeavesAllMembersWithAllPiecesInTheGroupsOrder) {
  on_every_group_and_size([](Channel& channel, std::size_t bytes) {
    for (int round = 0; round < 3; ++round) {
      std::vector<std::byte> whole = with_own_piece(channel, bytes, round);
      all_gather_ring(channel, whole, net::Purpose::Parameters);
      EXPECT_EQ(whole, whole_of(channel.size(), bytes, round)) << bytes << " bytes, " << channel.size() << " members";
    }
  });
}

TEST(AllGatherDirect, LeavesAllMembersWithAllPiecesInTheGroupsOrder) {
  on_every_group_and_size([](Channel& channel, std::size_t bytes) {
    for (int round = 0; round < 3; ++round) {
      const std::vector<std::byte> mine = piece_of(channel.index(), bytes, round);
      std::vector<std::byte> all(static_cast<std::size_t>(channel.size()) * bytes, std::byte{0xee});
      all_gather_exchange(channel, mine, all, net::Purpose::Metrics);
      EXPECT_EQ(all, whole_of(channel.size(), bytes, round)) << bytes << " bytes, " << channel.size() << " members";
      EXPECT_EQ(mine, piece_of(channel.index(), bytes, round));
    }
  });
}

TEST(AllGatherDirect, WorksInPlace) {
  on_every_group_and_size([](Channel& channel, std::size_t bytes) {
    std::vector<std::byte> all = with_own_piece(channel, bytes, 5);
    const auto mine = std::span<const std::byte>(all).subspan(static_cast<std::size_t>(channel.index()) * bytes, bytes);
    all_gather_exchange(channel, mine, all, net::Purpose::Metrics);
    EXPECT_EQ(all, whole_of(channel.size(), bytes, 5)) << bytes << " bytes, " << channel.size() << " members";
  });
}

}  // namespace
}  // namespace twinax::collective
