#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "twinax/record/rows.hpp"

namespace twinax::record {

/// The schema of run records; a reader refuses a newer one.
inline constexpr std::string_view kRecordSchema = "twinax-record/1";
/// The schema of a sweep's index file.
inline constexpr std::string_view kIndexSchema = "twinax-index/1";
/// Bytes of a name in /timeline and /links; longer ones are cut.
inline constexpr std::size_t kNameBytes = 32;

/// A dataset of the run record, as results/README.md lists it.
struct Column {
  std::string_view path;   ///< "/steps/seconds"
  std::string_view shape;  ///< "step"; "step, rank"; empty for one value
  std::string_view type;   ///< "float64", "int64" or "string"
  std::string_view unit;   ///< "s", "B", "1" for a pure number
  std::string_view fold;   ///< how ranks become one figure; "-" where nothing is folded
  std::string_view help;
};

/// A column, and where a row holds its value.
template <class Row>
struct Field {
  Column column;
  std::variant<double Row::*, std::int64_t Row::*, std::string Row::*> member;
};

/// The growing columns of each group, in the order in which they are created.
[[nodiscard]] std::span<const Field<StepRow>> step_fields();
[[nodiscard]] std::span<const Field<RankRow>> rank_fields();
[[nodiscard]] std::span<const Field<EvaluationRow>> evaluation_fields();
[[nodiscard]] std::span<const Field<DeviceRow>> device_fields();
[[nodiscard]] std::span<const Field<TimelineRow>> timeline_fields();
/// The group that records of kind "bench" have besides.
[[nodiscard]] std::span<const Field<BenchRow>> bench_fields();
/// The datasets whose size is known from the start.
[[nodiscard]] const Column& config_column();
[[nodiscard]] const Column& links_column();
[[nodiscard]] const Column& purposes_column();
[[nodiscard]] const Column& clocks_column();

/// Every dataset of a record, whatever its kind.
[[nodiscard]] std::vector<Column> all_columns();
/// The datasets of /bench, which a record of kind "bench" has besides.
[[nodiscard]] std::vector<Column> bench_columns();
/// Columns as a table of results/README.md.
[[nodiscard]] std::string as_markdown(std::span<const Column> columns);

}  // namespace twinax::record
