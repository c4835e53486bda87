#include "app/published.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

#include "app/experiment.hpp"

namespace twinax::app {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void refuse(const TomlFile& file, const TomlEntry& entry, std::string_view what) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, what));
}

[[noreturn]] void refuse(const PublishedRow& row, std::string_view what) {
  throw ConfigError(fmt::format("{}: sweep.published.{}: {}", row.place, row.name, what));
}

/// A scalar; refuses lists.
const TomlValue::Scalar& scalar_of(const TomlFile& file, const TomlEntry& entry) {
  if (entry.value.is_array || entry.value.items.size() != 1) refuse(file, entry, "is a single value, not a list");
  return entry.value.items.front();
}

double number_of(const TomlFile& file, const TomlEntry& entry, double most, std::string_view allowed) {
  const TomlValue::Scalar& value = scalar_of(file, entry);
  double number = 0;
  if (const auto* const real = std::get_if<double>(&value)) number = *real;
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
  if (!std::isfinite(number) || number <= 0 || (most > 0 && number > most)) refuse(file, entry, allowed);
  return number;
}

std::string text_of(const TomlFile& file, const TomlEntry& entry) {
  const auto* const text = std::get_if<std::string>(&scalar_of(file, entry));
  if (text == nullptr || text->empty()) refuse(file, entry, "must be a text in quotes, and not empty");
  return *text;
}

PublishedRow& row_of(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& name) {
  const auto known = std::ranges::find(sweep.published, name, &PublishedRow::name);
  if (known != sweep.published.end()) return *known;
  sweep.published.push_back({.name = name, .place = fmt::format("{}:{}", file.path, entry.line)});
  return sweep.published.back();
}

}  // namespace

void read_published_key(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos || dot == 0) refuse(file, entry, "published figures stand in a table with a name: [sweep.published.NAME]");
  PublishedRow& row = row_of(sweep, file, entry, key.substr(0, dot));
  const std::string field = key.substr(dot + 1);
  if (field == "efficiency") {
    row.efficiency = number_of(file, entry, 1, "must be a share above 0 and at most 1, such as 0.9");
  } else if (field == "speedup") {
    row.speedup = number_of(file, entry, 0, "must be a number above 0, such as 2.23");
  } else if (field == "batch") {
    row.batch = number_of(file, entry, 0, "must be a number above 0, such as 20");
  } else if (field == "label") {
    row.label = text_of(file, entry);
  } else if (field == "source") {
    row.source = text_of(file, entry);
  } else if (field.starts_with("where.")) {
    const std::string axis = field.substr(6);
    std::erase_if(row.where, [&](const auto& value) { return value.first == axis; });
    row.where.emplace_back(axis, to_set_text(scalar_of(file, entry)));
  } else {
    refuse(file, entry, "is not a key of published figures: efficiency, speedup, batch, where, label, source");
  }
}

void check_published(const SweepFile& sweep) {
  for (const PublishedRow& row : sweep.published) {
    if (row.source.empty()) refuse(row, "names no source, such as source = \"who published it, where and when\"");
    if (!row.efficiency && !row.speedup && !row.batch) refuse(row, "has no figure: efficiency, speedup or batch");
    for (const auto& [key, value] : row.where) {
      const auto axis = std::ranges::find(sweep.axes, key, &Axis::key);
      if (axis == sweep.axes.end()) refuse(row, fmt::format("where names {}, which is no axis", key));
      if (std::ranges::find(axis->values, value) == axis->values.end())
        refuse(row, fmt::format("where sets {} = {}, which is not on its axis: {}", key, value, fmt::join(axis->values, ", ")));
    }
  }
}

std::vector<record::IndexPublished> index_rows_of(const SweepFile& sweep) {
  std::vector<record::IndexPublished> rows;
  for (const PublishedRow& row : sweep.published) {
    rows.push_back({.name = row.name,
                    .label = row.label.empty() ? row.name : row.label,
                    .source = row.source,
                    .where = to_toml(sweep, row.where),
                    .efficiency = row.efficiency.value_or(kNone),
                    .speedup = row.speedup.value_or(kNone),
                    .batch = row.batch.value_or(kNone)});
  }
  return rows;
}

}  // namespace twinax::app
