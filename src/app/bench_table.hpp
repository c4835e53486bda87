#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace twinax::app {

/// A column of a benchmark's tables.
struct BenchColumn {
  std::string_view title;  ///< for people
  std::string_view name;   ///< in CSV, with its unit
  std::string_view help;
  int width = 9;
  bool is_text = false;  ///< texts stand to the left, numbers to the right
};

/// What stands in a column: nothing, a whole number, a number, a text.
using BenchCell = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A row of CSV without its end: cells that hold a comma, a quote or a line's end are quoted (RFC 4180); what isn't known is empty.
/// Numbers have six significant digits or more.
[[nodiscard]] std::string csv_line(std::span<const BenchCell> cells);
/// The first row of CSV.
[[nodiscard]] std::string csv_head(std::span<const BenchColumn> columns);

/// A row for people: three significant digits or more, what isn't known is "-". Only the columns named in `shown`, in that order, stand in
/// it; empty = all.
[[nodiscard]] std::string text_line(std::span<const BenchColumn> columns, std::span<const BenchCell> cells,
                                    std::span<const std::string_view> shown);
/// The titles, aligned like the rows.
[[nodiscard]] std::string text_head(std::span<const BenchColumn> columns, std::span<const std::string_view> shown);

/// What the columns mean, for --help: a line each, or more where it would be long.
[[nodiscard]] std::string columns_help(std::span<const BenchColumn> columns);

}  // namespace twinax::app
