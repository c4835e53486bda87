#include "twinax/record/environment.hpp"

#include <array>
#include <ctime>

#include <gmock/gmock.h>

#include "twinax/base/host.hpp"

namespace twinax::record {
namespace {

using ::testing::MatchesRegex;

std::string hosts(std::initializer_list<std::string> of_rank) {
  return describe_hosts(std::vector<std::string>(of_rank));
}

TEST(DescribeHosts, GivesEachHostItsRanks) {
  EXPECT_EQ(hosts({"a"}), "a:0");
  EXPECT_EQ(hosts({"a", "a", "b", "b", "b"}), "a:0-1 b:2-4");
  EXPECT_EQ(hosts({"a", "b", "a"}), "a:0 b:1 a:2");
  EXPECT_EQ(hosts({}), "");
}

TEST(CpuModel, IsTheFirstProcessorsName) {
  EXPECT_EQ(cpu_model("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nmodel name\t: Another\n"), "A CPU @ 2 GHz");
  EXPECT_EQ(cpu_model("model name : last line"), "last line");
}

TEST(CpuModel, IsUnknownWhereItIsNotSaid) {
  EXPECT_EQ(cpu_model(""), "unknown");
  EXPECT_EQ(cpu_model("processor : 0\n"), "unknown");
  EXPECT_EQ(cpu_model("model name\nflags : x\n"), "unknown");
}

TEST(ThisEnvironment, SaysWhatThisProcessKnows) {
  const Environment environment = this_environment();
  EXPECT_EQ(environment.hosts, host_name() + ":0");
  EXPECT_FALSE(environment.cpu.empty());
  EXPECT_GE(environment.cores, 1);
  EXPECT_THAT(environment.hdf5, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(environment.compiler, MatchesRegex("(gcc|clang) [0-9]+\\.[0-9]+\\.[0-9]+ .*"));
  EXPECT_THAT(environment.git_revision, MatchesRegex("unknown|[0-9a-f]+(-dirty)?"));
  EXPECT_EQ(environment.dilation, 1);
}

TEST(UtcNow, IsTheTimeInIso8601) {
  const std::time_t before = std::time(nullptr);
  const std::string text = utc_now();
  const std::time_t after = std::time(nullptr);
  std::tm utc{};
  ASSERT_NE(strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc), nullptr) << text;
  EXPECT_GE(timegm(&utc), before);
  EXPECT_LE(timegm(&utc), after);
}

}  // namespace
}  // namespace twinax::record
