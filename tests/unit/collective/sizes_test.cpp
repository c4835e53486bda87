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

}  // namespace
}  // namespace twinax::collective
