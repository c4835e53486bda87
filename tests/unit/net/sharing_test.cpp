#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "net/mpi_shared_memory.hpp"
#include "net/mpi_sharing.hpp"

namespace twinax::net {
namespace {

using ::testing::ElementsAre;

/// Ranks of the same container reach each other.
std::vector<int> leaders(const std::vector<int>& containers, int* rounds = nullptr) {
  return group_by_reach(static_cast<int>(containers.size()), [&](int leader) {
    if (rounds != nullptr) ++*rounds;
    std::vector<bool> reaches;
    for (const int container : containers) reaches.push_back(container == containers[static_cast<std::size_t>(leader)]);
    return reaches;
  });
}

TEST(GroupByReach, IsOneNodeInOneRoundWhereAllShare) {
  int rounds = 0;
  EXPECT_THAT(leaders({7, 7, 7}, &rounds), ElementsAre(0, 0, 0));
  EXPECT_EQ(rounds, 1);
}

TEST(GroupByReach, MakesANodeOfEachContainer) {
  int rounds = 0;
  EXPECT_THAT(leaders({1, 2, 1, 3, 2}, &rounds), ElementsAre(0, 1, 0, 3, 1));
  EXPECT_EQ(rounds, 3);
}

TEST(GroupByReach, LeavesARankAloneThatNobodyReachesNotEvenItself) {
  const auto nobody = [](int) { return std::vector<bool>(3, false); };
  EXPECT_THAT(group_by_reach(3, nobody), ElementsAre(0, 1, 2));
}

TEST(GroupByReach, KeepsARankWithItsFirstLeader) {
  // Rank 1 can't map rank 0's memory, and rank 2 maps both: it stays with rank 0.
  const auto reach = [](int leader) { return leader == 0 ? std::vector<bool>{true, false, true} : std::vector<bool>{false, true, true}; };
  EXPECT_THAT(group_by_reach(3, reach), ElementsAre(0, 1, 0));
}

TEST(TellApart, NumbersNodesOfOneName) {
  const std::vector<std::string> hosts{"a", "a", "b", "a", "b"};
  EXPECT_THAT(tell_apart(hosts, std::vector<int>{0, 1, 2, 0, 4}), ElementsAre("a", "a#2", "b", "a", "b#2"));
  EXPECT_THAT(tell_apart(hosts, std::vector<int>{0, 0, 2, 0, 2}), ElementsAre("a", "a", "b", "a", "b"));
}

TEST(MapPlace, FindsWhatStandsInTheMemory) {
  const SharedMemory memory = make_shared_memory(Bytes{4096});
  ASSERT_TRUE(memory.place.is_there());
  const auto one = map_place(memory.place, Bytes{4096});
  const auto other = map_place(memory.place, Bytes{4096});
  EXPECT_EQ(one[17], std::byte{0});
  one[17] = std::byte{5};
  EXPECT_EQ(other[17], std::byte{5});
}

TEST(MapPlace, RefusesAStrangersDescriptor) {
  const SharedMemory memory = make_shared_memory(Bytes{100});
  EXPECT_THROW((void)map_place(memory.place, Bytes{4096}), SystemError);
  EXPECT_THROW((void)map_place({.process = memory.place.process, .descriptor = 1 << 20}, Bytes{100}), SystemError);
}

}  // namespace
}  // namespace twinax::net
