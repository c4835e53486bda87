#include "collective/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::collective {
namespace {

TEST(CheckPieces, TakesPiecesThatMakeTheWhole) {
  EXPECT_NO_THROW(check_pieces("all-gather", 0, 0, 3));
  EXPECT_NO_THROW(check_pieces("all-gather", 5, 15, 3));
  EXPECT_NO_THROW(check_pieces("all-gather", std::size_t{1} << 32, std::size_t{3} << 32, 3));
}

TEST(CheckPieces, NamesBothSizes) {
  EXPECT_THAT([] { check_pieces("all-gather", 5, 16, 3); },
              ::testing::ThrowsMessage<InvalidArgument>("all-gather over 3 members: pieces of 5 elements do not make a whole of 16"));
}

TEST(CheckRoot, NamesARootOutsideTheGroup) {
  EXPECT_NO_THROW(check_root(0, 1));
  EXPECT_NO_THROW(check_root(2, 3));
  EXPECT_THAT([] { check_root(3, 3); }, ::testing::ThrowsMessage<InvalidArgument>("a broadcast from member 3 of a group of 3"));
  EXPECT_THROW(check_root(-1, 3), InvalidArgument);
}

TEST(CheckMember, TakesARankOnlyAtItsOwnPlace) {
  EXPECT_NO_THROW(check_member({.ranks = {4, 2}, .index = 1}, 2));
  EXPECT_THAT(
      [] {
        check_member({.ranks = {4, 2}, .index = -1}, 3);
      },
      ::testing::ThrowsMessage<InvalidArgument>("rank 3 is not member -1 of its group of 2"));
  EXPECT_THROW(check_member({.ranks = {4, 2}, .index = 0}, 2), InvalidArgument);
  EXPECT_THROW(check_member({.ranks = {4, 2}, .index = 2}, 2), InvalidArgument);
}

}  // namespace
}  // namespace twinax::collective
