#include "twinax/data/text.hpp"

#include <cstring>
#include <filesystem>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/scratch_folder.hpp"

namespace twinax::data {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string read_all(const Text& text) {
  std::string all;
  read_text(text, [&](std::string_view piece) { all += piece; });
  return all;
}

std::string error_of(const std::string& path) {
  try {
    (void)find_text(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FindText, TakesAFileAndSaysWhereAndHowLargeItIs) {
  const ScratchFolder folder;
  const std::string path = folder.write("a.txt", "in the beginning");
  const Text text = find_text((folder.path() / "." / "a.txt").string());
  EXPECT_EQ(text.path, path);
  EXPECT_EQ(text.size(), Bytes{16});
  EXPECT_EQ(read_all(text), "in the beginning");
}

TEST(FindText, FollowsALinkToTheFileItself) {
  const ScratchFolder folder;
  const std::string path = folder.write("a.txt", "text");
  fs::create_symlink(path, folder / "link");
  EXPECT_EQ(find_text(folder / "link").path, path);
}

TEST(FindText, TakesTheTxtFilesOfAFolderByName) {
  const ScratchFolder folder;
  folder.write("b.txt", "second ");
  folder.write("a.txt", "first ");
  folder.write("B.txt", "capital ");
  folder.write("c.md", "not a text");
  folder.write(".hidden.txt", "hidden");
  fs::create_directory(folder / "d.txt");
  EXPECT_EQ(read_all(find_text(folder.path().string())), "capital first second ");
}

TEST(FindText, TakesAllFilesOfAFolderWithoutTxt) {
  const ScratchFolder folder;
  folder.write("two", "2");
  folder.write("one.md", "1");
  folder.write(".hidden", "hidden");
  EXPECT_EQ(read_all(find_text(folder.path().string())), "12");
}

TEST(FindText, AllowsAnEmptyFileBesideOthers) {
  const ScratchFolder folder;
  folder.write("a.txt", "");
  folder.write("b.txt", "b");
  EXPECT_EQ(read_all(find_text(folder.path().string())), "b");
}

TEST(FindText, SaysWhatIsMissing) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(folder / "none.txt"), AllOf(HasSubstr(folder / "none.txt"), HasSubstr("No such file"), HasSubstr("data.path")));
  EXPECT_THAT(error_of(""), HasSubstr("data.path"));
  const std::string file = folder.write("file", "x");
  EXPECT_THAT(error_of(file + "/below"), HasSubstr("Not a directory"));
}

TEST(FindText, RefusesWhatIsEmpty) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(folder.path().string()), AllOf(HasSubstr(folder.path().string()), HasSubstr("holds no files")));
  const std::string file = folder.write("empty.txt", "");
  EXPECT_THAT(error_of(file), AllOf(HasSubstr(file), HasSubstr("is empty")));
  EXPECT_THAT(error_of(folder.path().string()), HasSubstr("is empty"));
}

TEST(FindText, RefusesPipesDevicesAndSocketsWithoutWaitingForThem) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of(folder / "pipe"), AllOf(HasSubstr(folder / "pipe"), HasSubstr("is a pipe")));
  EXPECT_THAT(error_of("/dev/zero"), HasSubstr("/dev/zero is a device"));
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(error_of(folder / "socket"), HasSubstr("is a socket"));
  close(server);
}

TEST(FindText, RefusesAPipeAmongAFoldersTexts) {
  const ScratchFolder folder;
  folder.write("a.txt", "text");
  ASSERT_EQ(mkfifo((folder / "b.txt").c_str(), 0600), 0);
  EXPECT_THAT(error_of(folder.path().string()), AllOf(HasSubstr("b.txt"), HasSubstr("is a pipe")));
}

TEST(FindText, RefusesWhatItMayNotRead) {
  const ScratchFolder folder;
  const std::string file = folder.write("locked.txt", "text");
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(file, fs::perms::none);
  const bool is_root = geteuid() == 0;
  if (is_root && seteuid(65'534) != 0) GTEST_SKIP() << "root may read everything, and can't become another user here";
  const std::string error = error_of(file);
  ASSERT_EQ(seteuid(is_root ? 0 : geteuid()), 0);
  EXPECT_THAT(error, AllOf(HasSubstr(file), HasSubstr("Permission denied")));
}

TEST(ReadText, GivesALargeTextInPiecesThatJoinToIt) {
  const ScratchFolder folder;
  std::string content;
  for (int i = 0; content.size() < (5 << 19); ++i) content += std::to_string(i);
  const Text text = find_text(folder.write("large.txt", content));
  std::string joined;
  std::size_t pieces = 0;
  read_text(text, [&](std::string_view piece) {
    EXPECT_LE(piece.size(), std::size_t{1} << 20);
    joined += piece;
    ++pieces;
  });
  EXPECT_EQ(joined, content);
  EXPECT_GE(pieces, 3U);
}

TEST(ReadText, NoticesATextThatChangedSinceItWasFound) {
  const ScratchFolder folder;
  const Text text = find_text(folder.write("a.txt", "text"));
  folder.write("a.txt", "longer text");
  EXPECT_THROW(read_all(text), FileError);
  Text touched = find_text(folder / "a.txt");
  fs::last_write_time(folder / "a.txt", fs::last_write_time(folder / "a.txt") + std::chrono::nanoseconds(1000));
  EXPECT_THROW(read_all(touched), FileError);
}

}  // namespace
}  // namespace twinax::data
