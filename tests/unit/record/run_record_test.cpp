#include "twinax/record/run_record.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "twinax/base/error.hpp"
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
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void set(std::string& value, int number) {
  value = "text " + std::to_string(number);
}
template <class Number>
void set(Number& value, int number) {
  value = static_cast<Number>(number);
}

/// A row whose every field holds a number of its own.
template <class Row>
Row numbered(std::span<const Field<Row>> fields, int first) {
  Row row;
  for (const Field<Row>& field : fields) {
    std::visit([&](auto member) { set(row.*member, first); }, field.member);
    ++first;
  }
  return row;
}

/// Expects that each column holds the rows' fields, in order.
template <class Row>
void expect_columns(const Stored& file, std::span<const Field<Row>> fields, const std::vector<Row>& rows) {
  for (const Field<Row>& field : fields) {
    const std::string path(field.column.path);
    SCOPED_TRACE(path);
    const auto compare = [&]<class Value>(Value Row::*member) {
      std::vector<Value> expected;
      for (const Row& row : rows) expected.push_back(row.*member);
      if constexpr (std::is_same_v<Value, std::string>) {
        EXPECT_EQ(file.texts(path), expected);
      } else {
        EXPECT_EQ(file.values<Value>(path), expected);
      }
    };
    std::visit(compare, field.member);
  }
}

TEST(RunRecord, HoldsEveryFieldOfEveryRow) {
  const ScratchFolder folder;
  const std::vector<StepRow> steps{numbered(step_fields(), 100), numbered(step_fields(), 200), numbered(step_fields(), 300)};
  std::vector<RankRow> ranks;
  for (int i = 0; i < 6; ++i) ranks.push_back(numbered(rank_fields(), 1000 + 10 * i));
  const std::vector<EvaluationRow> evaluations{numbered(evaluation_fields(), 400)};
  const std::vector<TimelineRow> events{numbered(timeline_fields(), 500), numbered(timeline_fields(), 600)};
  const std::vector<DeviceRow> devices{numbered(device_fields(), 700), numbered(device_fields(), 800)};
  RunRecord record(folder / "run.h5", full_head());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    record.append_step(steps[i], std::span(ranks).subspan(2 * i, 2));
    if (i == 1) record.flush();
  }
  record.append_evaluation(evaluations[0]);
  record.append_devices(devices);
  record.append_timeline(events);
  record.close();
  const Stored file(folder / "run.h5");
  expect_columns(file, step_fields(), steps);
  expect_columns(file, rank_fields(), ranks);
  expect_columns(file, evaluation_fields(), evaluations);
  expect_columns(file, device_fields(), devices);
  expect_columns(file, timeline_fields(), events);
  EXPECT_THAT(file.shape("/ranks/seconds"), ElementsAre(3, 2));
}

TEST(RunRecord, DescribesEveryDatasetAndHasNoOther) {
  const ScratchFolder folder;
  RunRecord(folder / "run.h5", full_head()).close();
  const Stored file(folder / "run.h5");
  std::vector<std::string> expected;
  for (const Column& column : all_columns()) {
    const std::string path(column.path);
    EXPECT_EQ(file.attribute(path, "unit"), column.unit) << path;
    EXPECT_EQ(file.attribute(path, "help"), column.help) << path;
    expected.push_back(path);
  }
  std::vector<std::string> found{"/config"};
  for (const std::string group : {"steps", "ranks", "evaluation", "links", "clocks", "devices", "timeline", "environment"}) {
    for (const std::string& name : file.names("/" + group)) found.push_back("/" + group + "/" + name);
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(file.names("/"),
              ElementsAre("clocks", "config", "devices", "environment", "evaluation", "links", "ranks", "steps", "timeline"));
}

TEST(RunRecord, HoldsABenchmarksFiguresInAGroupThatOthersLack) {
  const ScratchFolder folder;
  RecordHead head = full_head();
  head.kind = "bench";
  const std::vector<BenchRow> rows{numbered(bench_fields(), 100), numbered(bench_fields(), 200)};
  {
    RunRecord record(folder / "bench.h5", head);
    for (const BenchRow& row : rows) record.append_bench(row);
    record.close();
    RunRecord other(folder / "run.h5", full_head());
    EXPECT_THROW(other.append_bench(rows[0]), InvalidArgument);
  }
  const Stored file(folder / "bench.h5");
  expect_columns(file, bench_fields(), rows);
  for (const Column& column : bench_columns()) {
    EXPECT_EQ(file.attribute(std::string(column.path), "unit"), column.unit) << column.path;
    EXPECT_EQ(file.attribute(std::string(column.path), "help"), column.help) << column.path;
  }
  EXPECT_EQ(file.names("/bench").size(), bench_columns().size());
}

TEST(RunRecord, HoldsLinksAndWhatTheyWereFor) {
  const ScratchFolder folder;
  std::vector<std::int64_t> bytes(2 * 2 * 3);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int64_t>(i) << 40;
  RunRecord record(folder / "run.h5", full_head());
  record.set_links(bytes);
  record.close();
  const Stored file(folder / "run.h5");
  EXPECT_THAT(file.shape("/links/bytes"), ElementsAre(2, 2, 3));
  EXPECT_EQ(file.values<std::int64_t>("/links/bytes"), bytes);
  EXPECT_THAT(file.texts("/links/purpose"), ElementsAre("gather", "reduce", "control"));
  EXPECT_THAT(file.values<double>("/clocks/offset_seconds"), ElementsAre(0, 0));
  EXPECT_EQ(file.texts("/config").front(), full_head().config_toml);
}

TEST(RunRecord, CutsLongNamesBetweenCharacters) {
  const ScratchFolder folder;
  RunRecord record(folder / "run.h5", full_head());
  const std::string ascii(kNameBytes - 1, 'x');
  record.append_timeline(std::vector<TimelineRow>{{.lane = "compute", .op = ascii + "é", .unit = 0}});  // the é would end at byte 33
  record.close();
  EXPECT_THAT(Stored(folder / "run.h5").texts("/timeline/op"), ElementsAre(ascii));
}

TEST(RunRecord, WhatIsUnknownIsNan) {
  const ScratchFolder folder;
  RunRecord record(folder / "run.h5", full_head(1));
  record.append_step({}, std::vector<RankRow>(1));
  record.close();
  EXPECT_TRUE(std::isnan(Stored(folder / "run.h5").values<double>("/steps/roofline_seconds").front()));
}

TEST(RunRecord, RefusesStepsOfAnotherNumberOfRanks) {
  const ScratchFolder folder;
  RunRecord record(folder / "run.h5", full_head(2));
  EXPECT_THROW(record.append_step({}, std::vector<RankRow>(3)), InvalidArgument);
  EXPECT_THROW(record.set_links(std::vector<std::int64_t>(5)), InvalidArgument);
}

TEST(RunRecord, WritesRowsByItselfBeforeTheyAreMany) {
  const ScratchFolder folder;
  RunRecord record(folder / "run.h5", full_head(1));
  for (std::int64_t step = 0; step < 300; ++step) record.append_step(test::step_row(step), std::vector<RankRow>(1));
  EXPECT_EQ(Stored(folder / "run.h5", H5F_ACC_RDONLY | H5F_ACC_SWMR_READ).shape("/steps/step").front(), 256);
}

TEST(RunRecord, AWriteThatFailsEndsTheProcessAndKeepsWhatWasFlushed) {
  const ScratchFolder folder;
  const std::string path = folder / "run.h5";
  const test::ChildEnd end = test::run_in_child([&] {
    RunRecord record(path, full_head(1));
    std::int64_t step = 0;
    for (; step < 10; ++step) record.append_step(test::step_row(step), std::vector<RankRow>(1));
    record.flush();
    test::fill_disk_beyond(std::filesystem::file_size(path));
    for (; step < 100'000; ++step) record.append_step(test::step_row(step), std::vector<RankRow>(1));
    record.close();
    return 0;
  });
  EXPECT_EQ(end.exit_code, EXIT_FAILURE) << end.output;
  EXPECT_THAT(end.output, HasSubstr(path));
  EXPECT_THAT(end.output, HasSubstr("what was flushed before stays readable"));
  const Stored file(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
  const std::vector<std::int64_t> steps = file.values<std::int64_t>("/steps/step");
  ASSERT_GE(steps.size(), 10U);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_THAT(steps[i], AnyOf(static_cast<std::int64_t>(i), -1));
}

}  // namespace
}  // namespace twinax::record
