#include "twinax/base/narrow.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace twinax {
namespace {

TEST(Narrow, KeepsWhatFits) {
  EXPECT_EQ(narrow<int>(std::int64_t{2'147'483'647}), 2'147'483'647);
  EXPECT_EQ(narrow<int>(std::int64_t{-2'147'483'647 - 1}), -2'147'483'647 - 1);
  EXPECT_EQ(narrow<std::uint8_t>(255), 255);
}

TEST(Narrow, ThrowsInsteadOfWrapping) {
  EXPECT_THROW((void)narrow<int>(std::int64_t{2'147'483'648}), InvalidArgument);
  EXPECT_THROW((void)narrow<std::size_t>(-1), InvalidArgument);
  EXPECT_THROW((void)narrow<std::int64_t>(std::numeric_limits<std::uint64_t>::max()), InvalidArgument);
}

TEST(Narrow, NamesTheNumberAndTheType) {
  try {
    (void)narrow<int>(std::int64_t{3'000'000'000});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "the number 3000000000 does not fit the 32-bit type it is needed in");
  }
}

}  // namespace
}  // namespace twinax
