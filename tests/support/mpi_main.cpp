#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/mpi_world.hpp"

namespace twinax::test {
namespace {

/// More in slow runs.
unsigned longest_test_seconds() {
  const char* const wanted = std::getenv("TWINAX_TEST_SECONDS");
  return wanted == nullptr ? 50U : static_cast<unsigned>(std::atoi(wanted));
}

net::World* the_world = nullptr;  // set by main for as long as tests run
char running_test[256] = {};      // read by the signal handler

extern "C" void on_alarm(int /*signal*/) {
  constexpr char kText[] = "a rank did not arrive at the end of the test: ";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  (void)!write(STDERR_FILENO, running_test, sizeof running_test);
  _exit(EXIT_FAILURE);
}

std::string failures_of(const testing::TestResult& result) {
  std::string text = "on rank " + std::to_string(world().rank()) + ":";
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (part.failed()) text += std::string("\n") + (part.file_name() == nullptr ? "" : part.file_name()) + ": " + part.summary();
  }
  return text;
}

/// After each test all ranks agree on its result, with a deadline: a rank whose peers don't arrive prints the test and ends.
class AgreeAfterEachTest final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& info) override {
    const std::string name = std::string(info.test_suite_name()) + "." + info.name() + "\n";
    name.copy(running_test, sizeof running_test - 1);
    alarm(longest_test_seconds());
  }
  void OnTestEnd(const testing::TestInfo& info) override {
    std::optional<std::string> mine;
    if (info.result()->Failed()) mine = failures_of(*info.result());
    const std::optional<std::string> first = world().first_error(mine);
    if (first && !mine) ADD_FAILURE() << *first;
    alarm(0);
  }
};

}  // namespace

net::World& world() {
  return *the_world;
}

}  // namespace twinax::test

int main(int argc, char** argv) {
  using namespace twinax;
  testing::InitGoogleMock(&argc, argv);
  std::signal(SIGALRM, &test::on_alarm);
  net::WorldOptions options;
  options.argc = &argc;
  options.argv = &argv;
  if (const char* const name = std::getenv("TWINAX_TEST_TRANSPORT")) options.transport = name;
  return net::run_world(options, [](net::World& world) {
    test::the_world = &world;
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    if (world.rank() != 0) delete listeners.Release(listeners.default_result_printer());  // failures of other ranks are told by rank 0
    listeners.Append(new test::AgreeAfterEachTest);                                       // owned by GoogleTest
    const int code = RUN_ALL_TESTS();
    return world.first_error(code == 0 ? std::nullopt : std::optional<std::string>("failed")) ? EXIT_FAILURE : EXIT_SUCCESS;
  });
}
