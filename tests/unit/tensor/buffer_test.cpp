#include "twinax/tensor/buffer.hpp"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace twinax::tensor {
namespace {

TEST(Buffer, IsZeroAndAlignedForVectorsAtEverySize) {
  for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{17}, std::int64_t{1} << 20, (std::int64_t{1} << 20) + 3}) {
    const Buffer<float> buffer(elements);
    ASSERT_EQ(buffer.size(), static_cast<std::size_t>(elements));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data()) % 64, 0U) << elements;
    EXPECT_TRUE(std::all_of(buffer.span().begin(), buffer.span().end(), [](float value) { return value == 0.0F; })) << elements;
  }
}

TEST(Buffer, StartsLargeOnesAtAHugePage) {
  const Buffer<double> buffer(1 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data()) % (1U << 21), 0U);
}

TEST(Buffer, MayHoldNothing) {
  EXPECT_TRUE(Buffer<float>(0).span().empty());
}

}  // namespace
}  // namespace twinax::tensor
