#include "app/published.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::app {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kAxes = "[axes]\nranks = [1, 2]\n\"fsdp.limiter\" = [\"none\", \"window\"]\n";

SweepFile read(const std::string& published) {
  const test::ScratchFolder folder;
  return read_sweep(folder.write("s.toml", kAxes + published), {});
}

/// The message with which the rows are refused.
std::string refusal_of(const std::string& published) {
  try {
    (void)read(published);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Published, RowsAreReadInTheOrderOfTheFile) {
  const SweepFile sweep = read(R"(
[sweep.published.second]
speedup = 2
source = "a paper"
[sweep.published.first]
efficiency = 0.20
batch = 20
label = "no limiter, 32 nodes"
source = "a page"
where."fsdp.limiter" = "none"
where.ranks = 2
)");
  ASSERT_EQ(sweep.published.size(), 2U);
  EXPECT_EQ(sweep.published[0].name, "second");
  EXPECT_EQ(sweep.published[0].speedup, 2.0);
  EXPECT_FALSE(sweep.published[0].efficiency.has_value());
  EXPECT_TRUE(sweep.published[0].where.empty());
  EXPECT_EQ(sweep.published[1].efficiency, 0.2);
  EXPECT_EQ(sweep.published[1].batch, 20.0);
  EXPECT_EQ(sweep.published[1].label, "no limiter, 32 nodes");
  EXPECT_EQ(sweep.published[1].source, "a page");
  EXPECT_THAT(sweep.published[1].where, ElementsAre(Pair("fsdp.limiter", "none"), Pair("ranks", "2")));
}

TEST(Published, RowsOfTheIndexSayWhereAsToml) {
  const std::vector<record::IndexPublished> rows =
      index_rows_of(read("[sweep.published.x]\nbatch = 50\nsource = \"s\"\nwhere = { \"fsdp.limiter\" = \"window\", ranks = 1 }\n"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].where, "\"fsdp.limiter\" = \"window\"\n\"ranks\" = 1\n");
  EXPECT_EQ(rows[0].label, "x") << "the name, for want of another";
  EXPECT_EQ(rows[0].batch, 50);
  EXPECT_TRUE(std::isnan(rows[0].efficiency));
  EXPECT_TRUE(std::isnan(rows[0].speedup));
}

TEST(Published, AFileReplacesARowOfItsBase) {
  const test::ScratchFolder folder;
  folder.write("base.toml", std::string(kAxes) + "[sweep.published.x]\nbatch = 20\nsource = \"s\"\nwhere.ranks = 1\n");
  const SweepFile sweep =
      read_sweep(folder.write("s.toml", "base = \"base.toml\"\n[sweep.published.x]\nbatch = 50\nwhere.ranks = 2\n"), {});
  ASSERT_EQ(sweep.published.size(), 1U);
  EXPECT_EQ(sweep.published[0].batch, 50.0);
  EXPECT_THAT(sweep.published[0].where, ElementsAre(Pair("ranks", "2")));
}

TEST(Published, RefusesFiguresThatAreNone) {
  const auto refusal = [](const std::string& line) { return refusal_of("[sweep.published.x]\n" + line + "\nsource = \"s\"\n"); };
  EXPECT_THAT(refusal("efficiency = 90"),
              EndsWith("s.toml:5: sweep.published.x.efficiency: must be a share above 0 and at most 1, such as 0.9"));
  EXPECT_THAT(refusal("efficiency = \"0.9\""), HasSubstr("must be a share above 0"));
  EXPECT_THAT(refusal("efficiency = nan"), HasSubstr("must be a share above 0"));
  EXPECT_THAT(refusal("speedup = 0"), EndsWith("s.toml:5: sweep.published.x.speedup: must be a number above 0, such as 2.23"));
  EXPECT_THAT(refusal("batch = -1"), EndsWith("s.toml:5: sweep.published.x.batch: must be a number above 0, such as 20"));
  EXPECT_THAT(refusal("batch = [20, 50]"), EndsWith("s.toml:5: sweep.published.x.batch: is a single value, not a list"));
  EXPECT_THAT(refusal("label = 3"), EndsWith("s.toml:5: sweep.published.x.label: must be a text in quotes, and not empty"));
}

TEST(Published, RefusesRowsThatNameNoSourceOrSayNothing) {
  EXPECT_THAT(refusal_of("[sweep.published.x]\nbatch = 20\n"), HasSubstr("s.toml:5: sweep.published.x: names no source"));
  EXPECT_THAT(refusal_of("[sweep.published.x]\nbatch = 20\nsource = \"\"\n"),
              HasSubstr("s.toml:6: sweep.published.x.source: must be a text"));
  EXPECT_THAT(refusal_of("[sweep.published.x]\nsource = \"s\"\n"),
              EndsWith("s.toml:5: sweep.published.x: has no figure: efficiency, speedup or batch"));
}

TEST(Published, RefusesRowsOfValuesThatAreOnNoAxis) {
  const std::string row = "[sweep.published.x]\nbatch = 20\nsource = \"s\"\n";
  EXPECT_THAT(refusal_of(row + "where.\"net.profile\" = \"none\"\n"),
              EndsWith("s.toml:5: sweep.published.x: where names net.profile, which is no axis"));
  EXPECT_THAT(refusal_of(row + "where.\"fsdp.limiter\" = \"block\"\n"),
              EndsWith("s.toml:5: sweep.published.x: where sets fsdp.limiter = block, which is not on its axis: none, window"));
}

TEST(Published, RefusesUnknownKeys) {
  EXPECT_THAT(refusal_of("[sweep.published.x]\nefficency = 0.2\n"), HasSubstr("s.toml:5: sweep.published.x.efficency: is not a key of"));
  EXPECT_THAT(refusal_of("[sweep.published]\nefficiency = 0.2\n"), HasSubstr("published figures stand in a table with a name"));
}

}  // namespace
}  // namespace twinax::app
