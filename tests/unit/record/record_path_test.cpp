#include <filesystem>

#include <gmock/gmock.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/record/read_record.hpp"
#include "twinax/record/run_record.hpp"

#include "support/scratch_folder.hpp"
#include "unit/record/child.hpp"
#include "unit/record/made_records.hpp"

namespace twinax::record {
namespace {

using test::ScratchFolder;
using test::write_record;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::string& path, bool overwrite = false) {
  try {
    check_record_path(path, overwrite);
  } catch (const FileError& error) {
    return error.what();
  }
  return "none";
}

TEST(RecordPath, MakesItsFolderAndLeavesNothingElse) {
  const ScratchFolder folder;
  check_record_path(folder / "a/b/run.h5", false);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
}

TEST(RecordPath, ACompleteRecordIsNotReplacedUnasked) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {1, 2, 3});
  EXPECT_THAT(refusal(folder / "run.h5"), HasSubstr("is the complete record of an earlier run"));
  EXPECT_THROW(RunRecord(folder / "run.h5", test::full_head()), FileError);
  EXPECT_EQ(read_record(folder / "run.h5").steps, 3) << "it must be as it was";
  EXPECT_EQ(refusal(folder / "run.h5", true), "none");
  RunRecord(folder / "run.h5", test::full_head(), true).close();
  EXPECT_EQ(read_record(folder / "run.h5").steps, 0);
}

TEST(RecordPath, AnIncompleteRecordIsReplaced) {
  const ScratchFolder folder;
  write_record(folder / "run.h5", {1, 2, 3}, false);
  EXPECT_EQ(refusal(folder / "run.h5"), "none");
  RunRecord(folder / "run.h5", test::full_head()).close();
  EXPECT_TRUE(is_complete_record(folder / "run.h5"));
}

TEST(RecordPath, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  EXPECT_THAT(refusal(""), HasSubstr("record.path"));
  EXPECT_THAT(refusal(folder.path().string()), HasSubstr("is a folder"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("is no regular file"));
  EXPECT_THAT(refusal(folder.write("file", "") + "/run.h5"), HasSubstr("file"));
}

TEST(RecordPath, AFullDiskIsFoundBeforeTheFirstStep) {
  const ScratchFolder folder;
  const test::ChildEnd end = test::run_in_child([&] {
    test::fill_disk_beyond(1000);
    check_record_path(folder / "run.h5", false);
    return 0;
  });
  EXPECT_THAT(end.output, AllOf(HasSubstr(folder / "run.h5"), HasSubstr("can't write a record here"), HasSubstr("make room")));
  EXPECT_EQ(folder.entries(), 0) << "the probe must be gone";
}

TEST(RecordPath, AReadOnlyFolderIsFoundBeforeTheFirstStep) {
  const ScratchFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0555});
  constexpr int kStillRoot = 3;
  const test::ChildEnd end = test::run_in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return kStillRoot;  // root writes anywhere
    check_record_path(folder / "run.h5", false);
    return 0;
  });
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  if (end.exit_code == kStillRoot) GTEST_SKIP() << "root that can't become another user writes anywhere";
  EXPECT_THAT(end.output, AllOf(HasSubstr(folder / "run.h5"), HasSubstr("can't write a record here"), HasSubstr("Permission denied")));
}

}  // namespace
}  // namespace twinax::record
