#include "app/bench_tune.hpp"

#include <gmock/gmock.h>

namespace twinax::app {
namespace {

using collective::Choice;
using collective::Operation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

record::BenchRow figure(const std::string& algorithm, std::int64_t bytes, double seconds, const std::string& type = "fp32") {
  return {.test = "all_gather", .algorithm = algorithm, .type = type, .bytes = bytes, .seconds = seconds};
}

constexpr std::int64_t kKi = 1024;

TEST(Crossovers, LieHalfWayBetweenTheSizesWhereTheFastestChanges) {
  const std::vector<record::BenchRow> figures{figure("ring", kKi, 2),         figure("exchange", kKi, 1),  figure("ring", 4 * kKi, 3),
                                              figure("exchange", 4 * kKi, 2), figure("ring", 16 * kKi, 4), figure("exchange", 16 * kKi, 8)};
  EXPECT_THAT(crossovers(Operation::AllGather, figures), ElementsAre(Choice{Operation::AllGather, Bytes{8 * kKi}, "exchange"},
                                                                     Choice{.operation = Operation::AllGather, .algorithm = "ring"}));
  EXPECT_THAT(crossovers(Operation::AllReduce, figures), IsEmpty());
}

TEST(Crossovers, DoNotFollowWhatIsHardlyFaster) {
  const std::vector<record::BenchRow> figures{figure("ring", kKi, 1), figure("exchange", kKi, 2), figure("ring", 4 * kKi, 1),
                                              figure("exchange", 4 * kKi, 0.96)};
  EXPECT_THAT(crossovers(Operation::AllGather, figures), ElementsAre(Choice{.operation = Operation::AllGather, .algorithm = "ring"}));
}

TEST(Crossovers, LeaveMpisOwnOut) {
  const std::vector<record::BenchRow> figures{figure("native", kKi, 1), figure("ring", kKi, 2)};
  EXPECT_THAT(crossovers(Operation::AllGather, figures), ElementsAre(Choice{.operation = Operation::AllGather, .algorithm = "ring"}));
}

TEST(Crossovers, TakeSizesInFp32) {
  const std::vector<record::BenchRow> figures{figure("ring", kKi, 1, "bf16"), figure("direct", kKi, 2, "bf16"),
                                              figure("ring", 4 * kKi, 2, "bf16"), figure("direct", 4 * kKi, 1, "bf16")};
  EXPECT_EQ(crossovers(Operation::AllGather, figures).front().up_to, Bytes{4 * kKi}) << "between 2 and 8 KiB of fp32";
}

TEST(MergeInto, ReplacesWhatWasMeasuredAnewAndKeepsTheRest) {
  const Choice old_gather{.operation = Operation::AllGather, .algorithm = "ring"};
  const Choice old_sum{.operation = Operation::AllReduce, .algorithm = "ring"};
  const Choice new_gather{.operation = Operation::AllGather, .algorithm = "direct"};
  const collective::TuneKey here{"mpi", 2, 2};
  const collective::TuneKey there{"mpi", 4, 2};
  std::vector<collective::TuneTable> tables{{here, {old_gather, old_sum}}};
  merge_into(tables, {here, {new_gather}});
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].choices, ElementsAre(new_gather, old_sum));
  merge_into(tables, {there, {old_gather}});
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[1].key, there);
}

}  // namespace
}  // namespace twinax::app
