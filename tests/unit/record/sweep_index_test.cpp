#include "twinax/record/sweep_index.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"
#include "twinax/record/schema.hpp"

#include "support/scratch_folder.hpp"
#include "unit/record/child.hpp"
#include "unit/record/made_records.hpp"
#include "unit/record/stored.hpp"

namespace twinax::record {
namespace {

using test::ScratchFolder;
using test::Stored;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SweepIndex made_index() {
  SweepIndex index{.name = "demo", .title = "Größe"};
  index.axes = {{"net.profile", {"infiniband-hdr", "ethernet-25g"}}, {"ranks", {"1", "2"}}};
  index.points = {"a = 1\n", "a = 22\n"};
  index.baseline = "a = 1\n";
  index.repeats_minimum = 6;
  index.repeats_maximum = 10;
  index.warmup_steps = 2;
  index.stands_for = "two nodes";
  index.runs = {{"a = 22\n", 1, "a-22_1.h5"}, {"a = 1\n", 0, "a-1_0.h5"}};
  index.fit = "train.batch";
  index.trials = {{"a = 1\n", 16, 0, "fits"}, {"a = 22\n", 1, 3, "retries"}, {"a = 22\n", 9, 0, "out of memory", "no room for h.0"}};
  index.published = {{.name = "x", .label = "X, 32 nodes", .source = "a paper", .where = "a = 1\n", .efficiency = 0.2, .batch = 20},
                     {.name = "y", .label = "y", .source = "another", .speedup = 2.23}};
  return index;
}

std::string error_of(const std::string& path) {
  try {
    (void)read_sweep_index(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "none";
}

TEST(SweepIndex, ComesBackAsItWasWritten) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  const SweepIndex read = read_sweep_index(folder / "index.h5");
  const SweepIndex made = made_index();
  EXPECT_EQ(read.name, made.name);
  EXPECT_EQ(read.title, made.title);
  ASSERT_EQ(read.axes.size(), 2U);
  EXPECT_EQ(read.axes[0].key, "net.profile");
  EXPECT_THAT(read.axes[0].values, ElementsAre("infiniband-hdr", "ethernet-25g"));
  EXPECT_EQ(read.axes[1].key, "ranks");
  EXPECT_EQ(read.points, made.points);
  EXPECT_EQ(read.baseline, made.baseline);
  EXPECT_EQ(read.repeats_minimum, 6);
  EXPECT_EQ(read.repeats_maximum, 10);
  EXPECT_EQ(read.warmup_steps, 2);
  EXPECT_EQ(read.stands_for, made.stands_for);
  ASSERT_EQ(read.runs.size(), 2U);
  EXPECT_EQ(read.runs[0].point, "a = 22\n");
  EXPECT_EQ(read.runs[0].repeat, 1);
  EXPECT_EQ(read.runs[0].file, "a-22_1.h5");
  EXPECT_EQ(read.fit, "train.batch");
  ASSERT_EQ(read.trials.size(), 3U);
  EXPECT_EQ(read.trials[0].point, "a = 1\n");
  EXPECT_EQ(read.trials[0].value, 16);
  EXPECT_EQ(read.trials[1].retries, 3);
  EXPECT_EQ(read.trials[2].outcome, "out of memory");
  EXPECT_EQ(read.trials[2].reason, "no room for h.0");
  EXPECT_EQ(read.trials[1].reason, "");
}

TEST(SweepIndex, KeepsWhatWasPublished) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  const std::vector<IndexPublished> read = read_sweep_index(folder / "index.h5").published;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].name, "x");
  EXPECT_EQ(read[0].label, "X, 32 nodes");
  EXPECT_EQ(read[0].source, "a paper");
  EXPECT_EQ(read[0].where, "a = 1\n");
  EXPECT_EQ(read[0].efficiency, 0.2);
  EXPECT_TRUE(std::isnan(read[0].speedup));
  EXPECT_EQ(read[0].batch, 20);
  EXPECT_EQ(read[1].where, "");
  EXPECT_TRUE(std::isnan(read[1].efficiency));
  EXPECT_EQ(read[1].speedup, 2.23);
}

TEST(SweepIndex, OfAnEarlierProgramHasNothingPublishedAndNoReasons) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  {
    const Stored file(folder / "index.h5", H5F_ACC_RDWR);
    ASSERT_GE(H5Ldelete(file.file(), "/published", H5P_DEFAULT), 0);
    ASSERT_GE(H5Ldelete(file.file(), "/trials/reason", H5P_DEFAULT), 0);
  }
  const SweepIndex read = read_sweep_index(folder / "index.h5");
  EXPECT_TRUE(read.published.empty());
  ASSERT_EQ(read.trials.size(), 3U);
  EXPECT_EQ(read.trials[2].reason, "");
}

TEST(SweepIndex, MayNameNoRunYet) {
  const ScratchFolder folder;
  SweepIndex index = made_index();
  index.runs.clear();
  write_sweep_index(folder / "index.h5", index);
  EXPECT_TRUE(read_sweep_index(folder / "index.h5").runs.empty());
}

TEST(SweepIndex, IsReplacedWholeAndWhoReadsTheOldOneKeepsIt) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  const Stored old(folder / "index.h5");
  SweepIndex index = made_index();
  index.runs.push_back({"a = 1\n", 1, "a-1_1.h5"});
  write_sweep_index(folder / "index.h5", index);
  EXPECT_EQ(old.values<std::int64_t>("/runs/repeat").size(), 2U);
  EXPECT_EQ(read_sweep_index(folder / "index.h5").runs.size(), 3U);
  EXPECT_EQ(folder.entries(), 1) << "nothing is left beside it";
}

TEST(SweepIndex, AFullDiskLeavesTheOldOne) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  const test::ChildEnd end = test::run_in_child([&] {
    test::fill_disk_beyond(2000);
    SweepIndex index = made_index();
    index.title = "never seen";
    write_sweep_index(folder / "index.h5", index);
    return 0;
  });
  EXPECT_NE(end.exit_code, 0);
  EXPECT_EQ(read_sweep_index(folder / "index.h5").title, made_index().title);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(SweepIndex, RefusesWhatIsNoIndex) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(folder / "none.h5"), HasSubstr("there is no such file"));
  EXPECT_THAT(error_of(folder.write("text.h5", "text")), HasSubstr("text.h5"));
  test::write_record(folder / "run.h5", {1});
  EXPECT_THAT(error_of(folder / "run.h5"), HasSubstr("its schema is \"twinax-record/1\", not twinax-index/1"));
}

TEST(SweepIndex, RefusesANewerSchemaByName) {
  const ScratchFolder folder;
  write_sweep_index(folder / "index.h5", made_index());
  {
    const Stored file(folder / "index.h5", H5F_ACC_RDWR);
    change_attribute(file.file(), "schema", "twinax-index/2", folder / "index.h5");
  }
  EXPECT_THAT(error_of(folder / "index.h5"), HasSubstr("its schema is \"twinax-index/2\", not twinax-index/1"));
}

}  // namespace
}  // namespace twinax::record
