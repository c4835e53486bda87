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

TEST(SweepFile, RunsOneRankOverTheFirstNetworkAlone) {
  const SweepFile sweep =
      read("[axes]\nranks = [1, 2]\n\"net.profile\" = [\"none\", \"ethernet-25g\"]\n\"fsdp.limiter\" = [\"window\", \"none\"]\n");
  const auto points = points_of(sweep);
  EXPECT_EQ(points.size(), 2U + 4U);
  for (const Point& point : points) {
    if (point[0].second == "1") {
      EXPECT_EQ(point[1].second, "none") << to_line(point);
    }
  }
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

TEST(SweepFile, MayLookForTheLargestValueThatFits) {
  const SweepFile sweep =
      read("[sweep]\nfit = { key = \"train.batch\", minimum = 2, maximum = 64, steps = 3, precision = 0.05 }\n[axes]\nranks = [1]\n");
  ASSERT_TRUE(sweep.fit.has_value());
  EXPECT_EQ(sweep.fit->key, "train.batch");
  EXPECT_EQ(sweep.fit->minimum, 2);
  EXPECT_EQ(sweep.fit->maximum, 64);
  EXPECT_EQ(sweep.fit->steps, 3);
  EXPECT_EQ(sweep.fit->precision, 0.05);
  const Point point = points_of(sweep).at(0);
  EXPECT_EQ(config_of(sweep, point, 1, 20).integer("train.batch"), 20);
  EXPECT_EQ(config_of(sweep, point, 1).integer("train.batch"), sweep.config.integer("train.batch")) << "as long as none is known";
  EXPECT_FALSE(read("[axes]\nranks = [1]\n").fit.has_value());
}

TEST(SweepFile, MultipliesWhatFitsByTheRanksIfItIsPerRank) {
  const SweepFile sweep =
      read("[sweep]\nper_rank = [\"train.batch\"]\nfit = { key = \"train.batch\", maximum = 8 }\n[axes]\nranks = [2]\n");
  EXPECT_EQ(config_of(sweep, points_of(sweep).at(0), 2, 3).integer("train.batch"), 6);
}

TEST(SweepFile, RefusesAFitThatHasNoMeaning) {
  const std::string axes = "\n[axes]\n\"train.batch\" = [1, 2]\n";
  const auto refusal = [&](const std::string& fit) { return refusal_of("[sweep]\nfit = { " + fit + " }" + axes); };
  EXPECT_THAT(refusal("key = \"train.batch\", maximum = 8"), HasSubstr("sweep.fit looks for train.batch, which is an axis as well"));
  EXPECT_THAT(refusal("maximum = 8"), HasSubstr("sweep.fit names no key, such as \"train.batch\""));
  EXPECT_THAT(refusal("key = \"train.seed\""), HasSubstr("sweep.fit goes from minimum = 1 to maximum = 0"));
  EXPECT_THAT(refusal("key = \"train.seed\", minimum = 9, maximum = 8"), HasSubstr("from minimum = 9 to maximum = 8"));
  EXPECT_THAT(refusal("key = \"net.profile\", maximum = 8"),
              HasSubstr("net.profile is no key of the configuration that holds a whole number"));
  EXPECT_THAT(refusal("key = \"train.seed\", maximum = 0"), HasSubstr("must be a whole number from 1 up"));
  EXPECT_THAT(refusal("key = \"train.seed\", maximum = 8, precision = 1"), HasSubstr("must be a share from 0 to below 1"));
  EXPECT_THAT(refusal("key = \"train.seed\", maximum = 8, steps = 1"),
              HasSubstr("sweep.fit.steps = 1 leaves no step that counts after sweep.warmup_steps = 1"));
  EXPECT_THAT(refusal("most = 3"), HasSubstr("is not a key of a fit: key, minimum, maximum, steps"));
}

TEST(SweepFile, RefusesABaseWhosePathNoSystemTakes) {
  EXPECT_THAT(refusal_of("base = \"" + std::string(5000, 'x') + "\"\n"), HasSubstr("File name too long"));
}

}  // namespace
}  // namespace twinax::app
