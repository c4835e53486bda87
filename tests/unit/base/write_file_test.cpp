#include "twinax/base/write_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"

#include "support/scratch_folder.hpp"

namespace twinax {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WriteFile, ReplacesWhatWasThereAndLeavesNothingElse) {
  const test::ScratchFolder scratch;
  const std::filesystem::path path = scratch.path() / "a.toml";
  write_file(path.string(), "first, and long\n");
  write_file(path.string(), std::string("two\0\n", 5));
  EXPECT_EQ(content_of(path), std::string("two\0\n", 5));
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(WriteFile, SaysWhatTheSystemSaysAndKeepsWhatWasThere) {
  const test::ScratchFolder scratch;
  const std::string nowhere = (scratch.path() / "none" / "a.toml").string();
  EXPECT_THAT([&] { write_file(nowhere, "x"); },
              ThrowsMessage<FileError>(AllOf(HasSubstr("writing " + nowhere), HasSubstr("No such file or directory"))));
  const std::filesystem::path folder = scratch.path() / "folder";
  std::filesystem::create_directories(folder / "full");
  EXPECT_THAT([&] { write_file(folder.string(), "x"); }, ThrowsMessage<FileError>(HasSubstr("renaming")));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "full"));
}

TEST(CheckCanWrite, AcceptsWhatCanBeWrittenAndLeavesNothing) {
  const test::ScratchFolder scratch;
  check_can_write("-o", scratch / "new");
  EXPECT_EQ(scratch.entries(), 0);
  write_file(scratch / "old", "kept");
  check_can_write("-o", scratch / "old");
  EXPECT_EQ(content_of(scratch.path() / "old"), "kept");
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(CheckCanWrite, RefusesByTheOptionsName) {
  const test::ScratchFolder scratch;
  const std::string nowhere = (scratch.path() / "none" / "a.toml").string();
  EXPECT_THAT([&] { check_can_write("--tune", nowhere); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("--tune " + nowhere), HasSubstr("No such file or directory"))));
  EXPECT_THAT([&] { check_can_write("--tune", scratch.path().string()); }, ThrowsMessage<ConfigError>(HasSubstr("is a folder")));
  EXPECT_THAT([&] { check_can_write("--tune", scratch / std::string(300, 'x')); },
              ThrowsMessage<ConfigError>(HasSubstr("File name too long")));
}

}  // namespace
}  // namespace twinax
