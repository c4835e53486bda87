#include "twinax/step/op.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace twinax::step {
namespace {

TEST(OpKind, HasANameOfItsOwn) {
  using enum OpKind;
  EXPECT_STREQ(name_of(Gather), "gather");
  EXPECT_STREQ(name_of(Reduce), "reduce");
  EXPECT_STREQ(name_of(Forward), "forward");
  EXPECT_STREQ(name_of(Backward), "backward");
  EXPECT_STREQ(name_of(Optimize), "optimize");
  EXPECT_STREQ(name_of(Exchange), "exchange");
}

TEST(OpKind, KeepsTheNumbersOfTheRecord) {
  EXPECT_EQ(static_cast<int>(OpKind::Gather), 0);
  EXPECT_EQ(static_cast<int>(OpKind::Reduce), 1);
  EXPECT_EQ(static_cast<int>(OpKind::Forward), 2);
  EXPECT_EQ(static_cast<int>(OpKind::Backward), 3);
  EXPECT_EQ(static_cast<int>(OpKind::Optimize), 4);
  EXPECT_EQ(static_cast<int>(OpKind::Exchange), 5);
}

TEST(LaneKind, HasANameThatFitsAThread) {
  std::set<std::string> names;
  for (std::size_t lane = 0; lane < kLanes; ++lane) names.insert(name_of(static_cast<LaneKind>(lane)));
  EXPECT_EQ(names, (std::set<std::string>{"compute", "collective", "service"}));
  for (const std::string& name : names) EXPECT_LE(name.size(), 15U);
}

TEST(OpId, IsOrderedByItsIndex) {
  EXPECT_LT(OpId{1}, OpId{2});
  EXPECT_EQ(PoolId{3}, PoolId{3});
  EXPECT_NE(BufferId{0}, BufferId{1});
}

TEST(CreditUse, IsOneCreditUnlessSaid) {
  EXPECT_EQ(CreditUse{.pool = {7}}.amount, 1);
}

}  // namespace
}  // namespace twinax::step
