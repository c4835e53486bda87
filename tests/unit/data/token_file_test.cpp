#include "twinax/data/token_file.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/scratch_folder.hpp"

namespace twinax::data {
namespace {

using test::ScratchFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TokenFileHeader header_of(std::int64_t vocabulary) {
  return {.tokenizer = "bytes", .text_path = "/texts/a.txt", .text_state = 5, .vocabulary = vocabulary};
}

void write(const std::string& path, std::int64_t vocabulary, const std::vector<std::vector<std::int32_t>>& pieces) {
  write_token_file(path, header_of(vocabulary), [&](const auto& take) {
    for (const auto& piece : pieces) take(piece);
  });
}

TEST(TokenFile, GivesBackTheTokensThatWereWritten) {
  const ScratchFolder folder;
  for (const std::int64_t vocabulary : {200, 256, 257, 65'536}) {
    const auto last = static_cast<std::int32_t>(vocabulary - 1);
    write(folder / "a.tokens", vocabulary, {{0, 1, 2}, {}, {last, 3}});
    const TokenFile tokens(folder / "a.tokens");
    EXPECT_EQ(tokens.size(), 5);
    EXPECT_EQ(tokens.header().vocabulary, vocabulary);
    EXPECT_EQ(tokens.header().text_path, "/texts/a.txt");
    EXPECT_EQ(tokens.header().text_state, 5U);
    std::vector<std::int32_t> all(5);
    tokens.read(0, all);
    EXPECT_THAT(all, ElementsAre(0, 1, 2, last, 3));
    std::vector<std::int32_t> part(2);
    tokens.read(3, part);
    EXPECT_THAT(part, ElementsAre(last, 3));
  }
}

TEST(TokenFile, MayHoldNoTokens) {
  const ScratchFolder folder;
  write(folder / "a.tokens", 256, {});
  EXPECT_EQ(TokenFile(folder / "a.tokens").size(), 0);
}

TEST(TokenFile, RefusesToReadBeyondItsEnds) {
  const ScratchFolder folder;
  write(folder / "a.tokens", 256, {{1, 2, 3}});
  const TokenFile tokens(folder / "a.tokens");
  std::vector<std::int32_t> two(2);
  std::vector<std::int32_t> four(4);
  EXPECT_THROW(tokens.read(2, two), InvalidArgument);
  EXPECT_THROW(tokens.read(-1, two), InvalidArgument);
  EXPECT_THROW(tokens.read(0, four), InvalidArgument);
  EXPECT_THROW(tokens.read(std::numeric_limits<std::int64_t>::max(), two), InvalidArgument);
}

TEST(TokenFile, StaysReadableWhenAnotherTakesItsPlace) {
  const ScratchFolder folder;
  write(folder / "a.tokens", 256, {{1, 2, 3}});
  std::optional<TokenFile> first(std::in_place, folder / "a.tokens");
  const TokenFile copy = *first;
  first.reset();
  write(folder / "a.tokens", 256, {{9}});
  std::vector<std::int32_t> all(3);
  copy.read(0, all);
  EXPECT_THAT(all, ElementsAre(1, 2, 3));
  EXPECT_EQ(TokenFile(folder / "a.tokens").size(), 1);
}

TEST(TokenFile, NamesTheFileThatIsMissingOrForeign) {
  const ScratchFolder folder;
  const auto error_of = [](const std::string& path) -> std::string {
    try {
      const TokenFile tokens(path);
    } catch (const FileError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of(folder / "none"), AllOf(HasSubstr(folder / "none"), HasSubstr("No such file")));
  EXPECT_THAT(error_of(folder.path().string()), HasSubstr("is a folder"));
  EXPECT_THAT(error_of(folder.write("text", "text")), HasSubstr("is no token file"));
  EXPECT_THAT(error_of(folder.write("empty", "")), HasSubstr("is no token file"));
}

TEST(WriteTokenFile, LeavesNothingBehindWhenProducingFails) {
  const ScratchFolder folder;
  write(folder / "a.tokens", 256, {{1, 2, 3}});
  EXPECT_THROW(write(folder / "a.tokens", 256, {{1}, {256}}), InvalidArgument);
  EXPECT_THROW(write(folder / "a.tokens", 256, {{-1}}), InvalidArgument);
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(TokenFile(folder / "a.tokens").size(), 3);
}

TEST(WriteTokenFile, SaysWhichFolderCannotBeWritten) {
  const ScratchFolder folder;
  try {
    write(folder / "none/a.tokens", 256, {{1}});
    FAIL() << "wrote into a folder that isn't there";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(folder / "none/a.tokens"), HasSubstr("data.cache")));
  }
}

TEST(WriteTokenFile, NeverWritesThroughALinkThatLiesWhereItWritesAside) {
  const ScratchFolder folder;
  const std::string other = folder.write("other", "precious");
  std::filesystem::create_symlink(other, folder / ("a.tokens." + std::to_string(getpid()) + "-0.partial"));
  write(folder / "a.tokens", 256, {{1, 2, 3}});
  EXPECT_EQ(TokenFile(folder / "a.tokens").size(), 3);
  EXPECT_EQ(test::content_of(other), "precious");
}

TEST(WriteTokenFile, EndsWithAnErrorWhenTheDiskIsFull) {
  const ScratchFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write(folder / "a.tokens", 256, {std::vector<std::int32_t>(10'000, 65)}), SystemError);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace twinax::data
