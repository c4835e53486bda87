#include "twinax/data/token_cache.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/scratch_folder.hpp"

namespace twinax::data {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using testing::EndsWith;
using testing::HasSubstr;

/// Sets an environment variable for a scope; empty = unset.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { set(before_); }

 private:
  void set(const std::string& value) { value.empty() ? unsetenv(name_) : setenv(name_, value.c_str(), 1); }
  const char* name_;
  std::string before_;
};

std::string text_of(const TokenFile& tokens) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens.size()));
  tokens.read(0, all);
  return {all.begin(), all.end()};
}

TEST(TokenCacheFolder, IsTheOneAskedForElseTheUsersCache) {
  const Environment home("HOME", "/home/ann");
  const Environment cache("XDG_CACHE_HOME", "/caches/ann");
  EXPECT_EQ(token_cache_folder("build/cache"), "build/cache");
  EXPECT_EQ(token_cache_folder(""), "/caches/ann/twinax");
  const Environment relative("XDG_CACHE_HOME", "caches");  // to be ignored, says the XDG base directory specification
  EXPECT_EQ(token_cache_folder(""), "/home/ann/.cache/twinax");
  const Environment unset("XDG_CACHE_HOME", "");
  EXPECT_EQ(token_cache_folder(""), "/home/ann/.cache/twinax");
}

TEST(TokenCacheFolder, SaysWhatToSetWhereThereIsNone) {
  const Environment home("HOME", "");
  const Environment cache("XDG_CACHE_HOME", "");
  try {
    (void)token_cache_folder("");
    FAIL() << "found one";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("data.cache"));
  }
}

TEST(PrepareTokens, MakesThemOnceAndFindsThemThen) {
  const ScratchFolder folder;
  const std::string text = folder.write("psalm.txt", "The LORD is my shepherd");
  const PreparedTokens first = prepare_tokens(text, "bytes", folder / "new/cache");
  EXPECT_TRUE(first.made);
  EXPECT_EQ(text_of(first.tokens), "The LORD is my shepherd");
  EXPECT_EQ(fs::path(first.path).parent_path(), folder / "new/cache");
  EXPECT_THAT(first.path, EndsWith(".tokens"));
  EXPECT_EQ(first.tokens.header().text_path, text);
  const PreparedTokens second = prepare_tokens(text, "bytes", folder / "new/cache");
  EXPECT_FALSE(second.made);
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(text_of(second.tokens), "The LORD is my shepherd");
}

TEST(PrepareTokens, ReplacesThemWhenTheTextHasAnotherSizeOrTime) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.txt", "one");
  const std::string cache = folder / "cache";
  (void)prepare_tokens(text, "bytes", cache);
  folder.write("a.txt", "three");
  EXPECT_EQ(text_of(prepare_tokens(text, "bytes", cache).tokens), "three");
  const auto time = fs::last_write_time(text);
  folder.write("a.txt", "seven");
  fs::last_write_time(text, time + std::chrono::nanoseconds(1000));
  const PreparedTokens again = prepare_tokens(text, "bytes", cache);
  EXPECT_TRUE(again.made);
  EXPECT_EQ(text_of(again.tokens), "seven");
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), {}), 1);
}

TEST(PrepareTokens, SeesAFileThatComesIntoAFolder) {
  const ScratchFolder folder;
  fs::create_directory(folder / "texts");
  folder.write("texts/b.txt", "b");
  EXPECT_EQ(text_of(prepare_tokens(folder / "texts", "bytes", folder / "cache").tokens), "b");
  folder.write("texts/a.txt", "a");
  EXPECT_EQ(text_of(prepare_tokens(folder / "texts", "bytes", folder / "cache").tokens), "ab");
}

TEST(PrepareTokens, KeepsTextsOfOneNameApart) {
  const ScratchFolder folder;
  fs::create_directory(folder / "x");
  fs::create_directory(folder / "y");
  const auto x = prepare_tokens(folder.write("x/a.txt", "in x"), "bytes", folder / "cache");
  const auto y = prepare_tokens(folder.write("y/a.txt", "in y"), "bytes", folder / "cache");
  EXPECT_NE(x.path, y.path);
  EXPECT_FALSE(prepare_tokens(folder / "x/a.txt", "bytes", folder / "cache").made);
}

TEST(PrepareTokens, MakesThemAgainFromADamagedOrForeignFile) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.txt", "the text");
  const std::string path = prepare_tokens(text, "bytes", folder / "cache").path;
  std::string bytes = test::content_of(path);
  bytes.back() = 'X';
  for (const std::string& damaged : {bytes, bytes.substr(0, 70), std::string(), std::string("foreign")}) {
    folder.write("cache/" + fs::path(path).filename().string(), damaged);
    const PreparedTokens again = prepare_tokens(text, "bytes", folder / "cache");
    EXPECT_TRUE(again.made);
    EXPECT_EQ(text_of(again.tokens), "the text");
  }
}

TEST(PrepareTokens, NamesAFolderThatCannotBeMade) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.txt", "the text");
  try {
    (void)prepare_tokens(text, "bytes", text + "/cache");
    FAIL() << "made a folder in a file";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(text + "/cache"), HasSubstr("data.cache")));
  }
}

TEST(PrepareTokens, MayBeCalledByManyThreadsAtOnce) {
  const ScratchFolder folder;
  const std::string content(200'000, 'x');
  const std::string text = folder.write("a.txt", content);
  std::vector<std::string> seen(8);
  {
    std::vector<std::jthread> ranks;
    for (auto& mine : seen) ranks.emplace_back([&] { mine = text_of(prepare_tokens(text, "bytes", folder / "cache").tokens); });
  }
  for (const auto& mine : seen) EXPECT_EQ(mine, content);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cache"), {}), 1);
}

TEST(PrepareTokens, MayBeCalledByManyProcessesAtOnce) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.txt", std::string(200'000, 'x'));
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(fork());
    ASSERT_GE(ranks.back(), 0);
    if (ranks.back() == 0) _exit(prepare_tokens(text, "bytes", folder / "cache").tokens.size() == 200'000 ? 0 : 1);
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    ASSERT_EQ(waitpid(rank, &status, 0), rank);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cache"), {}), 1);
}

}  // namespace
}  // namespace twinax::data
