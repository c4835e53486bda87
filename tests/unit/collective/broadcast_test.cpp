#include <vector>

#include <gtest/gtest.h>

#include "collective/algorithms.hpp"
#include "support/counting_transport.hpp"
#include "support/run_members.hpp"

namespace twinax::collective {
namespace {

using test::Members;
using test::run_members;

std::vector<std::byte> data_of(int root, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(static_cast<std::size_t>(root) * 59 + i * 7 + 1);
  return data;
}

TEST(BroadcastTree, BringsTheRootsDataToAllFromEveryRoot) {
  for (const Members& members : test::every_group()) {
    run_members(members, [&](net::Transport& transport, const Group& group) {
      Channel channel(transport, group, 1, Bytes{64}, nullptr, nullptr);
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
        for (int root = 0; root < group.size(); ++root) {
          std::vector<std::byte> data = group.index == root ? data_of(root, bytes) : std::vector<std::byte>(bytes);
          broadcast_tree(channel, data, root, net::Purpose::Control);
          EXPECT_EQ(data, data_of(root, bytes)) << "from " << root << " to " << group.index << ", " << members.text();
        }
      }
    });
  }
}

TEST(BroadcastTree, SendsTheDataOnceToEachOtherMember) {
  constexpr std::int64_t kBytes = 100;
  for (int size = 1; size <= 7; ++size) {
    test::SentBytes sent(size);
    run_members(test::all_of(size), [&](net::Transport& transport, const Group& group) {
      test::CountingTransport counting(transport, sent);
      Channel channel(counting, group, 1, Bytes{64}, nullptr, nullptr);
      std::vector<std::byte> data(kBytes);
      broadcast_tree(channel, data, size - 1, net::Purpose::Control);
    });
    for (int to = 0; to < size; ++to) {
      std::int64_t received = 0;
      for (int from = 0; from < size; ++from) received += sent.at(from, to);
      EXPECT_EQ(received, to == size - 1 ? 0 : kBytes) << "member " << to << " of " << size;
    }
  }
}

}  // namespace
}  // namespace twinax::collective
