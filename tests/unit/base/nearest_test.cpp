#include "twinax/base/nearest.hpp"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace twinax {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("steps", "step"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // optimal string alignment: no piece is edited twice
}

TEST(Nearest, NamesTheFirstOfTheNearest) {
  const std::vector<std::string> known{"ethernet-10g", "ethernet-25g", "infiniband-ndr"};
  EXPECT_EQ(nearest("infinband-ndr", known), "infiniband-ndr");
  EXPECT_EQ(nearest("ethernet-20g", known), "ethernet-10g");
  EXPECT_EQ(nearest("anything", {}), "");
}

}  // namespace
}  // namespace twinax
