#include "app/sweep_file.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/toml.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SweepFile read(const std::string& text) {
  const test::ScratchFolder folder;
  return read_sweep(folder.write("s.toml", text), {});
}

/// The message with which a sweep is refused.
std::string refusal_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SweepFile, IsTheProductOfItsAxesTheLastFastest) {
  const SweepFile sweep = read("[axes]\nranks = [1, 2]\n\"fsdp.limiter\" = [\"window\", \"none\"]\n");
  std::vector<std::string> lines;
  for (const Point& point : points_of(sweep)) lines.push_back(to_line(point));
  EXPECT_THAT(lines, ElementsAre("ranks=1 fsdp.limiter=window", "ranks=1 fsdp.limiter=none", "ranks=2 fsdp.limiter=window",
                                 "ranks=2 fsdp.limiter=none"));
}

TEST(SweepFile, WritesEveryPointAsTomlThatReadsBack) {
  const SweepFile sweep = read("[axes]\n\"data.path\" = [1, \"a \\\"b\\\"\", \"back\\\\slash\", \"tab\\t\"]\nranks = [3]\n");
  const std::vector<Point> points = points_of(sweep);
  ASSERT_EQ(points.size(), 4U);
  for (const Point& point : points) {
    const TomlFile file = parse_toml(to_toml(sweep, point), "point.toml");
    ASSERT_EQ(file.entries.size(), 2U);
    EXPECT_EQ(file.entries[0].key, "data.path");
    EXPECT_EQ(file.entries[0].value.items.at(0), TomlValue::Scalar{point[0].second});
    EXPECT_EQ(file.entries[1].value.items.at(0), TomlValue::Scalar{std::int64_t{3}});
  }
}

TEST(SweepFile, RefusesValuesWhoseRunsWouldShareAFile) {
  EXPECT_THAT(refusal_of("[axes]\n\"data.path\" = [\"a/b\", \"c\", \"a b\"]\n"), HasSubstr("a/b and a b would be runs of one file's name"));
}

TEST(SweepFile, RefusesMoreRanksThanThereCanBe) {
  EXPECT_THAT(refusal_of("[axes]\nranks = [1, 2147483648]\n"), HasSubstr(":2: axes.ranks: more ranks than there can be"));
  EXPECT_EQ(ranks_of(points_of(read("[axes]\nranks = [2147483647]\n")).at(0), 1), std::numeric_limits<int>::max());
}

TEST(SweepFile, RefusesAValueWhereATableBelongs) {
  EXPECT_THAT(refusal_of("axes = 5\n"), HasSubstr("s.toml:1: axes: is a table of a sweep file, not a value"));
  EXPECT_THAT(refusal_of("sweep = true\n[axes]\nranks = [1]\n"), HasSubstr("s.toml:1: sweep: is a table of a sweep file, not a value"));
}

TEST(SweepFile, RefusesAKeyPerRankThatIsNoWholeNumber) {
  for (const std::string key : {"train.sed", "net.profile"}) {
    EXPECT_THAT(refusal_of("[sweep]\nper_rank = [\"" + key + "\"]\n[axes]\nranks = [1]\n"),
                HasSubstr("s.toml:2: sweep.per_rank: " + key + " is no key of the configuration that holds a whole number"));
  }
}

TEST(SweepFile, RefusesAKeyPerRankThatGrowsTooLarge) {
  const SweepFile sweep = read("[sweep]\nper_rank = [\"train.seed\"]\n[train]\nseed = 9223372036854775807\n[axes]\nranks = [1, 2]\n");
  const std::vector<Point> points = points_of(sweep);
  EXPECT_EQ(config_of(sweep, points[0], 1).integer("train.seed"), std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW((void)config_of(sweep, points[1], 2), ConfigError);
}

TEST(SweepFile, RefusesABaseWhosePathNoSystemTakes) {
  EXPECT_THAT(refusal_of("base = \"" + std::string(5000, 'x') + "\"\n"), HasSubstr("File name too long"));
}

}  // namespace
}  // namespace twinax::app
