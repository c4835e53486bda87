#include "twinax/base/handle.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int>& closed() {
  static std::vector<int> numbers;
  return numbers;
}

struct NumberTraits {
  using Native = int;
  static Native null() { return -1; }
  static void close(Native native) noexcept { closed().push_back(native); }
};
using Number = Handle<NumberTraits>;

class HandleTest : public ::testing::Test {
 protected:
  void SetUp() override { closed().clear(); }
};

static_assert(!std::is_copy_constructible_v<Number> && !std::is_copy_assignable_v<Number>);
static_assert(std::is_nothrow_move_constructible_v<Number>);

TEST_F(HandleTest, ClosesOnce) {
  { const Number number(3); }
  EXPECT_THAT(closed(), ElementsAre(3));
}

TEST_F(HandleTest, ClosesNothingWhenEmpty) {
  {
    const Number number;
    EXPECT_FALSE(number.is_open());
    EXPECT_EQ(number.get(), -1);
  }
  EXPECT_THAT(closed(), IsEmpty());
}

TEST_F(HandleTest, ClosesOnceAfterBeingMoved) {
  {
    Number from(4);
    const Number to(std::move(from));
    EXPECT_TRUE(to.is_open());
    EXPECT_EQ(to.get(), 4);
  }
  EXPECT_THAT(closed(), ElementsAre(4));
}

TEST_F(HandleTest, ClosesTheOldOneWhenAssignedTo) {
  Number number(5);
  number = Number(6);
  EXPECT_THAT(closed(), ElementsAre(5));
  EXPECT_EQ(number.get(), 6);
}

TEST_F(HandleTest, SurvivesBeingAssignedToItself) {
  Number number(7);
  Number& same = number;
  number = std::move(same);
  EXPECT_EQ(number.get(), 7);
  EXPECT_THAT(closed(), IsEmpty());
}

TEST_F(HandleTest, ReleasesUnclosed) {
  {
    Number number(8);
    EXPECT_EQ(number.release(), 8);
    EXPECT_FALSE(number.is_open());
  }
  EXPECT_THAT(closed(), IsEmpty());
}

}  // namespace
}  // namespace twinax
