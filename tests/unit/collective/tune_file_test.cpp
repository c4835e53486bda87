#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/collective/choice.hpp"

#include "support/scratch_folder.hpp"

namespace twinax::collective {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const std::vector<Choice> kMeasured{{.operation = Operation::AllGather, .up_to = Bytes{65536}, .algorithm = "exchange"},
                                    {.operation = Operation::AllGather, .algorithm = "ring"},
                                    {.operation = Operation::ReduceScatter, .algorithm = "pairwise"}};

std::vector<TuneTable> parse(const std::string& text) {
  return parse_tune_file(text, "tune.toml");
}

TEST(TuneFile, HoldsChoicesByTransportRanksAndRanksPerNode) {
  const auto tables = parse(
      "[mpi.ranks-4.per-node-2]\n"
      "all_gather = [\"64KiB exchange\", \"ring\"]\n"
      "reduce_scatter = [\"pairwise\"]\n"
      "[loopback.ranks-4.per-node-4]\n"
      "broadcast = [\"tree\"]\n");
  EXPECT_EQ(choices_for(tables, {.transport = "mpi", .ranks = 4, .ranks_per_node = 2}), kMeasured);
  EXPECT_THAT(choices_for(tables, {.transport = "mpi", .ranks = 4, .ranks_per_node = 4}), IsEmpty());
  EXPECT_THAT(choices_for(tables, {.transport = "loopback", .ranks = 4, .ranks_per_node = 2}), IsEmpty());
}

TEST(TuneFile, ReadsBackWhatItWrote) {
  const test::ScratchFolder folder;
  const std::string path = folder.path() / "tune.toml";
  std::vector<TuneTable> tables(2);
  tables[0].key = {.transport = "mpi", .ranks = 4, .ranks_per_node = 2};
  tables[1].key = {.transport = "ucx", .ranks = 2, .ranks_per_node = 1};
  for (TuneTable& table : tables) table.choices = kMeasured;
  save_tune_file(path, tables);
  save_tune_file(path, tables);
  const auto read = load_tune_file(path);
  ASSERT_EQ(read.size(), 2U);
  for (std::size_t t = 0; t < read.size(); ++t) {
    EXPECT_EQ(read[t].key, tables[t].key);
    EXPECT_EQ(read[t].choices, kMeasured);
  }
}

TEST(TuneFile, ErrorsNameFileLineAndWhatIsExpected) {
  const auto expect_refused = [](const std::string& text, const std::string& part) {
    EXPECT_THAT([&] { (void)parse(text); }, ThrowsMessage<ConfigError>(AllOf(HasSubstr("tune.toml:"), HasSubstr(part)))) << text;
  };
  const std::string head = "[mpi.ranks-4.per-node-2]\n";
  expect_refused(head + "all_gather = [\"spiral\"]\n", "has no algorithm \"spiral\": ring");
  expect_refused(head + "all_gather = [\"64KiB pairwise\", \"ring\"]\n", "has no algorithm \"pairwise\"");
  expect_refused(head + "all_gather = []\n", "a list is expected");
  expect_refused(head + "all_gather = \"ring\"\n", "a list is expected");
  expect_refused(head + "all_gather = [1]\n", "texts are expected");
  expect_refused(head + "all_gather = [\"64KiB ring\"]\n", "at the end an algorithm alone");
  expect_refused(head + "all_gather = [\"exchange\", \"ring\"]\n", "a size and an algorithm");
  expect_refused(head + "all_gather = [\"64 ring\", \"ring\"]\n", "64");
  expect_refused(head + "all_gather = [\"64KiB ring\", \"1KiB exchange\", \"ring\"]\n", "do not rise");
  expect_refused(head + "all_scatter = [\"ring\"]\n", "a collective is expected");
  expect_refused("[mpi.ranks-0.per-node-1]\nall_gather = [\"ring\"]\n", "[mpi.ranks-4.per-node-2]");
  expect_refused("[mpi.ranks-2.per-node-4]\nall_gather = [\"ring\"]\n", "[mpi.ranks-4.per-node-2]");
  expect_refused("[mpi.ranks-2x.per-node-1]\nall_gather = [\"ring\"]\n", "[mpi.ranks-4.per-node-2]");
  expect_refused("all_gather = [\"ring\"]\n", "[mpi.ranks-4.per-node-2]");
  expect_refused(head + "all_gather = [\n", "tune.toml");
}

TEST(TuneFile, ThatIsMissingIsNamed) {
  EXPECT_THAT([] { (void)load_tune_file("no-such-file.toml"); }, ThrowsMessage<FileError>(HasSubstr("no-such-file.toml")));
}

TEST(CollectiveChoices, ReadBackFromARecordsLinesAmongOthers) {
  EXPECT_EQ(to_text(kMeasured),
            "collective all_gather 64KiB: exchange\ncollective all_gather any: ring\ncollective reduce_scatter any: pairwise\n");
  EXPECT_EQ(parse_choices("NT 64 64 64: eigen\n" + to_text(kMeasured)), kMeasured);
  EXPECT_THAT(parse_choices(""), IsEmpty());
  for (const std::string line : {"collective all_gather\n", "collective all_gather 64KiB ring\n", "collective gather any: ring\n",
                                 "collective all_gather any: tree\n", "collective all_gather 12: ring\n"}) {
    EXPECT_THROW((void)parse_choices(line), InvalidArgument) << line;
  }
}

TEST(CollectiveChoices, NameEveryAlgorithmOnce) {
  for (std::size_t o = 0; o < kOperations.size(); ++o) {
    const auto rows = algorithms_of(static_cast<Operation>(o));
    EXPECT_FALSE(rows.empty());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_FALSE(rows[i].help.empty());
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(rows[i].name, rows[j].name);
    }
  }
}

}  // namespace
}  // namespace twinax::collective
