#include "twinax/base/error.hpp"

#include <new>
#include <system_error>
#include <type_traits>

#include "twinax/base/host.hpp"

#include "gmock/gmock.h"

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

TEST(FailureText, NamesTheHostAndTheLimitWhereTheStandardLibraryDoesNot) {
  using testing::HasSubstr;
  EXPECT_THAT(failure_text(std::bad_alloc()), testing::AllOf(HasSubstr("out of memory on " + host_name()), HasSubstr("ulimit -v")));
  const std::system_error no_thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_THAT(failure_text(no_thread), testing::AllOf(HasSubstr("thread on " + host_name()), HasSubstr("ulimit -u")));
  EXPECT_EQ(failure_text(FileError("text.txt: is empty")), "text.txt: is empty");
}

}  // namespace
}  // namespace twinax
