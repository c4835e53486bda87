#include "app/bench_table.hpp"

#include <cmath>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

struct ForCsv {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return std::isfinite(value) ? fmt::format("{:.7g}", value) : ""; }
  std::string operator()(const std::string& value) const { return quoted(value); }
};

struct ForPeople {
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    if (!std::isfinite(value)) return "-";
    if (std::fabs(value) < 9.995) return fmt::format("{:.2f}", value);
    return std::fabs(value) < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
  }
  std::string operator()(const std::string& value) const { return value.empty() ? "-" : value; }
};

/// The places of the columns shown.
std::vector<std::size_t> places(std::span<const BenchColumn> columns, std::span<const std::string_view> shown) {
  std::vector<std::size_t> at;
  if (shown.empty()) {
    for (std::size_t i = 0; i < columns.size(); ++i) at.push_back(i);
    return at;
  }
  for (const std::string_view name : shown) {
    std::size_t i = 0;
    while (i < columns.size() && columns[i].name != name) ++i;
    if (i == columns.size()) throw InvalidArgument(fmt::format("a table has no column {}", name));
    at.push_back(i);
  }
  return at;
}

std::string padded(const BenchColumn& column, std::string_view text) {
  return column.is_text ? fmt::format("{:<{}} ", text, column.width) : fmt::format("{:>{}} ", text, column.width);
}

}  // namespace

std::string csv_line(std::span<const BenchCell> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + std::visit(ForCsv{}, cells[i]);
  return line;
}

std::string csv_head(std::span<const BenchColumn> columns) {
  std::vector<BenchCell> names;
  for (const BenchColumn& column : columns) names.emplace_back(std::string(column.name));
  return csv_line(names);
}

std::string text_line(std::span<const BenchColumn> columns, std::span<const BenchCell> cells, std::span<const std::string_view> shown) {
  std::string line;
  for (const std::size_t i : places(columns, shown)) line += padded(columns[i], std::visit(ForPeople{}, cells[i]));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string text_head(std::span<const BenchColumn> columns, std::span<const std::string_view> shown) {
  std::string line;
  for (const std::size_t i : places(columns, shown)) line += padded(columns[i], columns[i].title);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string columns_help(std::span<const BenchColumn> columns) {
  constexpr std::size_t kIndent = 17;
  constexpr std::size_t kWidth = 110;
  std::string text;
  for (const BenchColumn& column : columns) {
    text += fmt::format("  {:<{}}", column.title, kIndent - 2);
    std::string_view rest = column.help;
    while (rest.size() > kWidth - kIndent) {
      const std::size_t space = rest.rfind(' ', kWidth - kIndent);
      if (space == std::string_view::npos) break;
      text += fmt::format("{}\n{:<{}}", rest.substr(0, space), "", kIndent);
      rest.remove_prefix(space + 1);
    }
    text += fmt::format("{}\n", rest);
  }
  return text;
}

}  // namespace twinax::app
