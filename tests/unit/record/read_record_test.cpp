#include "twinax/record/read_record.hpp"

#include <cmath>
#include <csignal>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"
#include "twinax/record/run_record.hpp"
#include "twinax/record/schema.hpp"

#include "support/scratch_folder.hpp"
#include "unit/record/child.hpp"
#include "unit/record/made_records.hpp"
#include "unit/record/stored.hpp"

namespace twinax::record {
namespace {

using test::full_head;
using test::ScratchFolder;
using test::Stored;
using test::write_record;
using ::testing::HasSubstr;

std::string error_of(const std::string& path) {
  try {
    (void)read_record(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "none";
}

/// A run that flushes three steps, adds a fourth, and is killed.
void write_killed(const std::string& path) {
  const test::ChildEnd end = test::run_in_child([&] {
    RunRecord record(path, full_head(1), true);
    for (std::int64_t step = 0; step < 4; ++step) {
      record.append_step(test::step_row(step, 1 + static_cast<double>(step)), std::vector<RankRow>(1));
      if (step == 2) record.flush();
    }
    std::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(end.signal, SIGKILL) << end.output;
}

TEST(ReadRecord, GivesBackTheHead) {
  const ScratchFolder folder;
  const RecordHead head = full_head();
  {
    RunRecord record(folder / "run.h5", head);
    record.set_dilation_drift(-0.125);
    record.close();
  }
  const RecordFacts facts = read_record(folder / "run.h5");
  EXPECT_TRUE(facts.is_complete);
  EXPECT_EQ(facts.kind, head.kind);
  EXPECT_EQ(facts.name, head.name);
  EXPECT_EQ(facts.config_toml, head.config_toml);
  EXPECT_EQ(facts.choices, head.choices);
  EXPECT_EQ(facts.point, head.point);
  EXPECT_EQ(facts.repeat, head.repeat);
  EXPECT_EQ(facts.warmup_steps, head.warmup_steps);
  EXPECT_EQ(facts.parameters, head.parameters);
  EXPECT_EQ(facts.dilation_drift, -0.125);
  EXPECT_EQ(facts.flags, head.flags);
  EXPECT_EQ(facts.stands_for, head.stands_for);
}

TEST(ReadRecord, GivesBackTheEnvironment) {
  const ScratchFolder folder;
  const Environment written = full_head().environment;
  RunRecord(folder / "run.h5", full_head()).close();
  const Environment read = read_record(folder / "run.h5").environment;
  EXPECT_EQ(read.hosts, written.hosts);
  EXPECT_EQ(read.ranks, written.ranks);
  EXPECT_EQ(read.ranks_per_node, written.ranks_per_node);
  EXPECT_EQ(read.cpu, written.cpu);
  EXPECT_EQ(read.cores, written.cores);
  EXPECT_EQ(read.mpi, written.mpi);
  EXPECT_EQ(read.ucx, written.ucx);
  EXPECT_EQ(read.hdf5, written.hdf5);
  EXPECT_EQ(read.compiler, written.compiler);
  EXPECT_EQ(read.git_revision, written.git_revision);
  EXPECT_EQ(read.transport, written.transport);
  EXPECT_EQ(read.network, written.network);
  EXPECT_EQ(read.accelerator, written.accelerator);
  EXPECT_EQ(read.dilation, written.dilation);
  EXPECT_EQ(read.model_factor, written.model_factor);
  EXPECT_EQ(read.token_factor, written.token_factor);
}

TEST(ReadRecord, TakesTheMedianAfterTheWarmUp) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {100, 4, 1, 3, 2});  // of which the first is warm-up
  const RecordFacts facts = read_record(folder / "run.h5");
  EXPECT_EQ(facts.steps, 5);
  EXPECT_EQ(facts.median_step_seconds, 2.5);
  EXPECT_EQ(facts.last_loss, 6);
  EXPECT_TRUE(std::isnan(facts.last_bits_per_byte));
}

TEST(ReadRecord, KnowsNoMedianOfWarmUpAlone) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {100});
  EXPECT_TRUE(std::isnan(read_record(folder / "run.h5").median_step_seconds));
}

TEST(ReadRecord, ReadsARunThatIsStillWriting) {
  const ScratchFolder folder;
  const std::string path = folder / "run.h5";
  const test::ChildEnd writer = test::run_in_child([&] {
    RunRecord record(path, full_head(1));
    record.append_step(test::step_row(0), std::vector<RankRow>(1));
    record.flush();
    const test::ChildEnd reader = test::run_in_child([&] {
      const RecordFacts facts = read_record(path);
      return facts.is_complete || facts.steps != 1 ? 1 : 0;
    });
    std::printf("%s", reader.output.c_str());
    return reader.exit_code;
  });
  EXPECT_EQ(writer.exit_code, 0) << writer.output;
}

TEST(ReadRecord, ReadsAKilledRunAsFarAsItWasFlushed) {
  const ScratchFolder folder;
  write_killed(folder / "run.h5");
  EXPECT_THROW(Stored(folder / "run.h5"), Hdf5Error) << "a plain open must fail, or there is nothing to test";
  const RecordFacts facts = read_record(folder / "run.h5");
  EXPECT_FALSE(facts.is_complete);
  EXPECT_EQ(facts.steps, 3);
  EXPECT_EQ(facts.last_loss, 2);
}

TEST(RepairRecord, OpensAKilledRunToAllToolsAndLeavesItIncomplete) {
  const ScratchFolder folder;
  write_killed(folder / "run.h5");
  EXPECT_TRUE(repair_record(folder / "run.h5"));
  EXPECT_EQ(Stored(folder / "run.h5").values<std::int64_t>("/steps/step").size(), 3U);
  EXPECT_FALSE(read_record(folder / "run.h5").is_complete);
  EXPECT_FALSE(repair_record(folder / "run.h5")) << "the second time there is nothing to clear";
}

TEST(RepairRecord, RefusesWhatIsNoRecord) {
  const ScratchFolder folder;
  EXPECT_THROW(repair_record(folder / "none.h5"), FileError);
  EXPECT_THROW(repair_record(folder.write("text.h5", "text")), FileError);
}

TEST(ReadRecord, RefusesANewerSchemaByName) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {1});
  {
    const Stored file(folder / "run.h5", H5F_ACC_RDWR);
    change_attribute(file.file(), "schema", "twinax-record/2", folder / "run.h5");
  }
  EXPECT_THAT(error_of(folder / "run.h5"), HasSubstr("is of schema twinax-record/2, this program reads twinax-record/1"));
}

TEST(ReadRecord, NamesAColumnThatIsMissing) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {1});
  {
    const Stored file(folder / "run.h5", H5F_ACC_RDWR);
    ASSERT_GE(H5Ldelete(file.file(), "/steps/loss", H5P_DEFAULT), 0);
  }
  EXPECT_THAT(error_of(folder / "run.h5"), HasSubstr("/steps/loss"));
}

TEST(ReadRecord, RefusesWhatIsNoRecord) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(folder / "none.h5"), HasSubstr("there is no such file"));
  EXPECT_THAT(error_of(folder.write("text.h5", "text")), HasSubstr("is no HDF5 file"));
  { const File foreign = create_file(folder / "foreign.h5"); }
  EXPECT_THAT(error_of(folder / "foreign.h5"), HasSubstr("is no run record"));
}

TEST(IsCompleteRecord, OnlyOfARunThatWasClosed) {
  const ScratchFolder folder;
  write_record(folder / "closed.h5", {1});
  EXPECT_TRUE(is_complete_record(folder / "closed.h5"));
  write_record(folder / "open.h5", {1}, false);
  EXPECT_FALSE(is_complete_record(folder / "open.h5"));
  write_killed(folder / "killed.h5");
  EXPECT_FALSE(is_complete_record(folder / "killed.h5"));
}

TEST(IsCompleteRecord, NeverOfAMissingForeignOrDamagedFile) {
  const ScratchFolder folder;
  EXPECT_FALSE(is_complete_record(folder / "none.h5"));
  EXPECT_FALSE(is_complete_record(folder.write("text.h5", "text")));
  { const File foreign = create_file(folder / "foreign.h5"); }
  EXPECT_FALSE(is_complete_record(folder / "foreign.h5"));
  write_record(folder / "cut.h5", {1});
  std::filesystem::resize_file(folder / "cut.h5", std::filesystem::file_size(folder / "cut.h5") / 2);
  EXPECT_FALSE(is_complete_record(folder / "cut.h5"));
}

}  // namespace
}  // namespace twinax::record
