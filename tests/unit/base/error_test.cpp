#include "twinax/base/error.hpp"

#include <type_traits>

#include "gtest/gtest.h"

namespace twinax {
namespace {

static_assert(std::is_base_of_v<Error, ConfigError> && std::is_base_of_v<Error, InvalidArgument> && std::is_base_of_v<Error, FileError>);
static_assert(std::is_base_of_v<Error, PeerLost> && std::is_base_of_v<Error, OutOfBudget>);
static_assert(std::is_base_of_v<NativeError, MpiError> && std::is_base_of_v<NativeError, Hdf5Error> &&
              std::is_base_of_v<NativeError, SystemError>);

TEST(NativeError, KeepsTheNativeCode) {
  try {
    throw MpiError(15, "sending to rank 3: MPI_ERR_TRUNCATE");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "sending to rank 3: MPI_ERR_TRUNCATE");
    const auto* const native = dynamic_cast<const NativeError*>(&error);
    ASSERT_NE(native, nullptr);
    EXPECT_EQ(native->code(), 15);
  }
}

}  // namespace
}  // namespace twinax
