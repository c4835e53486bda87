#include "twinax/base/log.hpp"

#include <string>

#include "gtest/gtest.h"

namespace twinax {
namespace {

std::string stderr_of(int rank, int verbosity) {
  start_log(rank, verbosity);
  ::testing::internal::CaptureStderr();
  log_debug("a {} brace");
  log_info("news");
  log_warn("odd");
  log_error("bad");
  std::string text = ::testing::internal::GetCapturedStderr();
  start_log(0, 1);
  return text;
}

TEST(Log, ShowsNewsOfRankZeroOnly) {
  EXPECT_EQ(stderr_of(0, 1), "twinax[0] news\ntwinax[0] warning: odd\ntwinax[0] error: bad\n");
  EXPECT_EQ(stderr_of(3, 1), "twinax[3] warning: odd\ntwinax[3] error: bad\n");
}

TEST(Log, KeepsWarningsAndErrorsWhenQuiet) {
  EXPECT_EQ(stderr_of(0, 0), "twinax[0] warning: odd\ntwinax[0] error: bad\n");
}

TEST(Log, ShowsDebugLinesOfEveryRankOnRequest) {
  EXPECT_EQ(stderr_of(2, 2), "twinax[2] debug: a {} brace\ntwinax[2] warning: odd\ntwinax[2] error: bad\n");
}

}  // namespace
}  // namespace twinax
