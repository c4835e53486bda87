#include "twinax/base/toml.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinax {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::string& text) {
  try {
    (void)parse_toml(text, "x.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

std::string unreadable(const std::string& path) {
  try {
    (void)read_toml(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "(accepted)";
}

class ReadToml : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / ("twinax_toml_" + std::to_string(getpid()));
};

TEST(ParseToml, FlattensTablesInTheOrderOfTheFile) {
  const TomlFile file =
      parse_toml("z = 1\n[b]\nsecond = true\nfirst = 0.5\n[a]\n\"net.profile\" = [\"x\", \"y\"]\n[a.deep]\nk = 'v'\n", "x.toml");
  EXPECT_EQ(file.path, "x.toml");
  ASSERT_EQ(file.entries.size(), 5U);
  EXPECT_EQ(file.entries[0].key, "z");
  EXPECT_EQ(file.entries[1].key, "b.second");
  EXPECT_EQ(file.entries[2].key, "b.first");
  EXPECT_EQ(file.entries[3].key, "a.net.profile");
  EXPECT_EQ(file.entries[4].key, "a.deep.k");
  EXPECT_EQ(file.entries[3].line, 6);
  EXPECT_EQ(file.entries[4].line, 8);
}

TEST(ParseToml, KeepsTheTypesOfScalars) {
  const TomlFile file = parse_toml("a = 1_000\nb = 1e3\nc = true\nd = \"1\"\n", "x.toml");
  EXPECT_EQ(file.entries[0].value.items.at(0), TomlValue::Scalar(std::int64_t{1000}));
  EXPECT_EQ(file.entries[1].value.items.at(0), TomlValue::Scalar(1000.0));
  EXPECT_EQ(file.entries[2].value.items.at(0), TomlValue::Scalar(true));
  EXPECT_EQ(file.entries[3].value.items.at(0), TomlValue::Scalar(std::string("1")));
}

TEST(ParseToml, KeepsListsOfScalars) {
  const TomlFile file = parse_toml("a = [\n  1,\n  2,\n]\nb = []\n", "x.toml");
  EXPECT_TRUE(file.entries[0].value.is_array);
  EXPECT_EQ(file.entries[0].value.items.size(), 2U);
  EXPECT_EQ(file.entries[0].line, 1);
  EXPECT_TRUE(file.entries[1].value.is_array);
  EXPECT_TRUE(file.entries[1].value.items.empty());
}

TEST(ParseToml, KeepsTheOrderOfKeysOnOneLine) {
  const TomlFile file = parse_toml("t = { b = 1, a = 2 }\n", "x.toml");
  ASSERT_EQ(file.entries.size(), 2U);
  EXPECT_EQ(file.entries[0].key, "t.b");
  EXPECT_EQ(file.entries[1].key, "t.a");
}

TEST(ParseToml, RefusesATableOrKeyGivenTwice) {
  EXPECT_THAT(refusal("[fsdp]\nlimit = 1\n[fsdp]\n"), StartsWith("x.toml:3: [fsdp]: "));
  EXPECT_THAT(refusal("[fsdp]\nlimit = 1\nlimit = 2\n"), StartsWith("x.toml:3: limit = 2: "));
}

TEST(ParseToml, SaysThatQuantitiesStandInQuotes) {
  EXPECT_THAT(refusal("[net]\nrate = 25Gbit/s\n"), StartsWith("x.toml:2: rate = 25Gbit/s: "));
  EXPECT_THAT(refusal("[net]\nrate = 25Gbit/s\n"), HasSubstr("; texts and quantities stand in quotes: rate = \"25Gbit/s\""));
  EXPECT_THAT(refusal("path = data/a.txt\n"), HasSubstr("; texts and quantities stand in quotes: path = \"data/a.txt\""));
}

TEST(ParseToml, NamesTheLineOfOtherMistakes) {
  EXPECT_THAT(refusal("a = 1,\n"), StartsWith("x.toml:1: a = 1,: "));
  EXPECT_THAT(refusal("a = 1\nb\n"), StartsWith("x.toml:2: b: "));
  EXPECT_THAT(refusal("a = \"\xff\"\n"), StartsWith("x.toml:1: "));
  EXPECT_THAT(refusal("a = [1, 2\n"), StartsWith("x.toml:"));
}

TEST(ParseToml, RefusesWhatAConfigurationHasNoUseFor) {
  EXPECT_EQ(refusal("a = 1979-05-27\n"),
            "x.toml:1: a: dates and times are not used here; expected a number, a text in quotes, true or false");
  EXPECT_EQ(refusal("a = [[1], [2]]\n"), "x.toml:1: a: a list may hold numbers, texts and true or false only");
  EXPECT_EQ(refusal("[[a]]\nb = 1\n"), "x.toml:1: a: a list may hold numbers, texts and true or false only");
}

TEST(ParseToml, DropsAByteOrderMark) {
  EXPECT_EQ(parse_toml("\xef\xbb\xbf"
                       "a = 1\n",
                       "x.toml")
                .entries.at(0)
                .key,
            "a");
}

TEST_F(ReadToml, ReadsAFile) {
  const std::string path = folder_ / "a.toml";
  std::ofstream(path) << "[train]\nsteps = 3\n";
  const TomlFile file = read_toml(path);
  EXPECT_EQ(file.path, path);
  EXPECT_EQ(file.entries.at(0).key, "train.steps");
}

TEST_F(ReadToml, TakesAnEmptyFileForNoEntries) {
  const std::string path = folder_ / "empty.toml";
  std::ofstream(path).flush();
  EXPECT_TRUE(read_toml(path).entries.empty());
}

TEST_F(ReadToml, RefusesWhatIsNoRegularFile) {
  const std::string missing = folder_ / "missing.toml";
  EXPECT_EQ(unreadable(missing), "reading the configuration " + missing + ": No such file or directory");
  EXPECT_EQ(unreadable(folder_), "reading the configuration " + folder_.string() + ": it is a folder, not a TOML file");
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(unreadable(pipe), "reading the configuration " + pipe + ": it is not a regular file");
}

TEST_F(ReadToml, RefusesAFileOfAnAbsurdSize) {
  const std::string path = folder_ / "large.toml";
  std::ofstream(path).flush();
  std::filesystem::resize_file(path, 16 * 1024 * 1024 + 1);
  EXPECT_EQ(unreadable(path), "reading the configuration " + path + ": 16777217 bytes are too many for a TOML file (at most 16777216)");
}

TEST(ParseToml, RefusesKeysThatWouldExhaustTheStack) {
  std::string key = "a";
  for (int depth = 0; depth < 5000; ++depth) key += ".a";
  EXPECT_EQ(parse_toml(key + " = 1\n", "x.toml").entries.at(0).key, key);
  EXPECT_EQ(refusal(key + ".a = 1\n"), "x.toml: 5001 dots are too many for a configuration (at most 5000)");
  EXPECT_THAT(refusal("[" + std::string(300, '[') + "a"), StartsWith("x.toml:1: "));
}

TEST(TomlText, EscapesWhatTomlCannotHoldPlainly) {
  EXPECT_EQ(toml_text(TomlValue::Scalar{std::string("a\"b\\c\n\x7f")}), "\"a\\\"b\\\\c\\u000a\\u007f\"");
  EXPECT_EQ(toml_text(TomlValue{{std::string("x"), true, 1.0}, true}), "[\"x\", true, 1.0]");
}

}  // namespace
}  // namespace twinax
