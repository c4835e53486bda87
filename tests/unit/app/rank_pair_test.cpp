#include "app/rank_pair.hpp"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(RankPair, IsTwoNumbersInTheirOrder) {
  EXPECT_EQ(parse_pair("0,1", "--pair"), std::pair(0, 1));
  EXPECT_EQ(parse_pair("12,3", "--pair"), std::pair(12, 3));
}

TEST(RankPair, IsRefusedByTheOptionsName) {
  for (const std::string wrong :
       {"", "0", "0,", ",1", "0,1,1", "1,1", "-1,0", "0,-1", "+1,0", "0,+1", " 0,1", "0, 1", "0,1 ", "a,b", "0;1", "0,99999999999"}) {
    EXPECT_THAT([&] { static_cast<void>(parse_pair(wrong, "--between")); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr("--between: \"" + wrong + "\""), HasSubstr("two different ranks"))))
        << wrong;
  }
}

TEST(RankPair, IsOfRanksThatThereAre) {
  check_pair({1, 0}, 2, "--pair");
  for (const std::pair<int, int>& wrong : {std::pair(0, 2), std::pair(2, 0)}) {
    EXPECT_THAT([&] { check_pair(wrong, 2, "--pair"); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr("--pair "), HasSubstr("there are ranks 0 to 1"))));
  }
}

}  // namespace
}  // namespace twinax::app
