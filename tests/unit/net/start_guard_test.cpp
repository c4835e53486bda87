#include "net/start_guard.hpp"

#include <array>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace twinax::net {
namespace {

using ::testing::HasSubstr;

TEST(StartGuard, IsSilentIfTheStartEndsInTime) {
  std::atomic<int> calls{0};
  {
    const StartGuard guard({3600}, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

TEST(StartGuard, CallsOnceIfTheStartDoesNotEnd) {
  std::atomic<int> calls{0};
  const StartGuard guard({0.001}, [&] {
    ++calls;
    calls.notify_all();
  });
  calls.wait(0);
  EXPECT_EQ(calls, 1);
}

TEST(StartAdvice, NamesTheHostAndTheSetting) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const std::string advice = start_advice({12});
  EXPECT_THAT(advice, HasSubstr("after 12.0 s"));
  EXPECT_THAT(advice, HasSubstr(host.data()));
  EXPECT_THAT(advice, HasSubstr("--mca btl_tcp_if_include DEVICE"));
}

}  // namespace
}  // namespace twinax::net
