#include "app/bench_table.hpp"

#include <array>
#include <limits>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

using ::testing::HasSubstr;

constexpr std::array kColumns{BenchColumn{"name", "name", "what", 6, true}, BenchColumn{"size [B]", "size_bytes", "how large", 8},
                              BenchColumn{"time [us]", "time_us", "how long", 9}};

TEST(CsvLine, QuotesWhatHoldsCommasQuotesOrLineEnds) {
  const std::vector<BenchCell> cells{std::string("a,b"), std::string("say \"x\""), std::string("two\nlines"), std::string("plain")};
  EXPECT_EQ(csv_line(cells), "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",plain");
}

TEST(CsvLine, LeavesWhatIsNotKnownEmptyAndKeepsNumbersExact) {
  const std::vector<BenchCell> cells{std::monostate{}, std::int64_t{9007199254740993}, 0.000123456,
                                     std::numeric_limits<double>::quiet_NaN(), 2.0};
  EXPECT_EQ(csv_line(cells), ",9007199254740993,0.000123456,,2");
  EXPECT_EQ(csv_head(kColumns), "name,size_bytes,time_us");
}

TEST(TextLine, AlignsTextsToTheLeftAndNumbersToTheRight) {
  EXPECT_EQ(text_head(kColumns, {}), "name   size [B] time [us]");
  EXPECT_EQ(text_line(kColumns, std::vector<BenchCell>{std::string("ring"), std::int64_t{64}, 1.234}, {}), "ring         64      1.23");
  EXPECT_EQ(text_line(kColumns, std::vector<BenchCell>{std::monostate{}, std::monostate{}, 123.456}, {}), "-             -       123");
}

TEST(TextLine, ShowsTheColumnsNamedInTheirOrder) {
  constexpr std::array<std::string_view, 2> kShown{"time_us", "name"};
  EXPECT_EQ(text_head(kColumns, kShown), "time [us] name");
  EXPECT_EQ(text_line(kColumns, std::vector<BenchCell>{std::string("ring"), std::int64_t{64}, 12.345}, kShown), "     12.3 ring");
  constexpr std::array<std::string_view, 1> kWrong{"speed"};
  EXPECT_THROW((void)text_head(kColumns, kWrong), InvalidArgument);
}

TEST(ColumnsHelp, ExplainsEveryColumn) {
  for (const BenchColumn& column : kColumns) {
    EXPECT_THAT(columns_help(kColumns), HasSubstr(std::string(column.title)));
    EXPECT_THAT(columns_help(kColumns), HasSubstr(std::string(column.help)));
  }
}

TEST(ColumnsHelp, BreaksLongLinesBetweenWordsAndLosesNone) {
  const std::string words =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen";
  const BenchColumn column{"t", "t", words};
  const std::string help = columns_help(std::span(&column, 1));
  std::istringstream lines(help);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 110U);
  EXPECT_EQ(count, 2U);
  std::istringstream found(help.substr(help.find("one")));
  std::istringstream expected(words);
  std::string a;
  for (std::string b; expected >> b;) {
    found >> a;
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace twinax::app
