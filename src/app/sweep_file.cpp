#include "app/sweep_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

#include "app/experiment.hpp"
#include "app/published.hpp"

namespace twinax::app {
namespace {

constexpr std::array<std::string_view, 2> kOwnTables{"sweep", "axes"};

[[noreturn]] void refuse(const TomlFile& file, const TomlEntry& entry, std::string_view what) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, what));
}

std::int64_t whole_number(const TomlFile& file, const TomlEntry& entry, const TomlValue::Scalar& value, std::int64_t minimum) {
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < minimum) refuse(file, entry, fmt::format("must be a whole number from {} up", minimum));
  return *number;
}

double share(const TomlFile& file, const TomlEntry& entry) {
  const auto* share = std::get_if<double>(&entry.value.items.front());
  if (entry.value.is_array || share == nullptr || *share < 0 || *share >= 1)
    refuse(file, entry, "must be a share from 0 to below 1, such as 0.05");
  return *share;
}

std::vector<std::string> texts(const TomlEntry& entry) {
  std::vector<std::string> all;
  for (const TomlValue::Scalar& item : entry.value.items) all.push_back(to_set_text(item));
  return all;
}

/// A value as a part of a file's name.
std::string slug_of(const std::string& value) {
  std::string slug;
  for (const char c : value) slug += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ? c : '-';
  return slug;
}

void read_repeats(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry) {
  constexpr std::int64_t kFewest = 6;
  if (entry.value.items.empty() || entry.value.items.size() > 2) refuse(file, entry, "is a number, or [at least, at most]");
  sweep.repeats_minimum = whole_number(file, entry, entry.value.items.front(), kFewest);
  sweep.repeats_maximum = whole_number(file, entry, entry.value.items.back(), sweep.repeats_minimum);
}

void read_fit_key(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& key) {
  if (!sweep.fit) sweep.fit.emplace();
  const TomlValue::Scalar& value = entry.value.items.front();
  if (key == "key") {
    const auto declared = std::ranges::find(config_keys(), to_set_text(value), &KeyDeclaration::name);
    if (declared == config_keys().end() || declared->type != KeyType::Integer)
      refuse(file, entry, fmt::format("{} is no key of the configuration that holds a whole number", to_set_text(value)));
    sweep.fit->key = to_set_text(value);
  } else if (key == "minimum" || key == "maximum") {
    (key == "minimum" ? sweep.fit->minimum : sweep.fit->maximum) = whole_number(file, entry, value, 1);
  } else if (key == "steps") {
    sweep.fit->steps = whole_number(file, entry, value, 1);
  } else if (key == "precision") {
    sweep.fit->precision = share(file, entry);
  } else {
    refuse(file, entry, "is not a key of a fit: key, minimum, maximum, steps, precision");
  }
}

void read_own_key(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& key) {
  const TomlValue& value = entry.value;
  if (value.items.empty()) refuse(file, entry, "must not be empty");
  if (key == "title") {
    sweep.title = to_set_text(value.items.front());
  } else if (key == "repeats") {
    read_repeats(sweep, file, entry);
  } else if (key == "precision") {
    sweep.precision = share(file, entry);
  } else if (key == "warmup_steps") {
    sweep.warmup_steps = whole_number(file, entry, value.items.front(), 0);
  } else if (key == "per_rank") {
    sweep.per_rank = texts(entry);
    for (const std::string& name : sweep.per_rank) {
      const auto key_of_config = std::ranges::find(config_keys(), name, &KeyDeclaration::name);
      if (key_of_config == config_keys().end() || key_of_config->type != KeyType::Integer)
        refuse(file, entry, fmt::format("{} is no key of the configuration that holds a whole number", name));
    }
  } else if (key.starts_with("fit.")) {
    read_fit_key(sweep, file, entry, key.substr(4));
  } else if (key.starts_with("published.")) {
    read_published_key(sweep, file, entry, key.substr(10));
  } else if (key.starts_with("baseline.")) {
    sweep.baseline.emplace_back(key.substr(9), to_set_text(value.items.front()));
  } else {
    refuse(file, entry, "is not a key of a sweep: title, repeats, precision, warmup_steps, baseline, per_rank, fit, published");
  }
}

void read_axis(SweepFile& sweep, const TomlFile& file, const TomlEntry& entry, const std::string& key) {
  if (!entry.value.is_array || entry.value.items.empty()) refuse(file, entry, "an axis is a list of values, such as [1, 2]");
  Axis axis{.key = key, .values = texts(entry), .is_text = false};
  for (const TomlValue::Scalar& item : entry.value.items) axis.is_text = axis.is_text || std::holds_alternative<std::string>(item);
  for (const std::string& value : axis.values) {
    if (std::ranges::count(axis.values, value) > 1) refuse(file, entry, fmt::format("the value {} stands twice", value));
    const auto other = std::ranges::find_if(axis.values, [&](const auto& one) { return one != value && slug_of(one) == slug_of(value); });
    if (other != axis.values.end()) refuse(file, entry, fmt::format("{} and {} would be runs of one file's name", value, *other));
    if (key == "ranks") continue;
    Config tried = sweep.config;
    tried.set(key, value, fmt::format("{}:{}", file.path, entry.line));
  }
  if (key == "ranks") {
    for (const TomlValue::Scalar& item : entry.value.items) {
      if (whole_number(file, entry, item, 1) > std::numeric_limits<int>::max()) refuse(file, entry, "more ranks than there can be");
    }
  }
  std::erase_if(sweep.axes, [&](const Axis& known) { return known.key == key; });
  sweep.axes.push_back(std::move(axis));
}

void check_baseline(const SweepFile& sweep) {
  for (const auto& [key, value] : sweep.baseline) {
    const auto axis = std::ranges::find(sweep.axes, key, &Axis::key);
    if (axis == sweep.axes.end()) throw ConfigError(fmt::format("{}: sweep.baseline names {}, which is no axis", sweep.path, key));
    if (std::ranges::find(axis->values, value) == axis->values.end()) {
      throw ConfigError(fmt::format("{}: sweep.baseline sets {} = {}, which is not on its axis: {}", sweep.path, key, value,
                                    fmt::join(axis->values, ", ")));
    }
  }
}

void check_fit(const SweepFile& sweep) {
  if (!sweep.fit) return;
  const FitAxis& fit = *sweep.fit;
  if (fit.key.empty()) throw ConfigError(fmt::format("{}: sweep.fit names no key, such as \"train.batch\"", sweep.path));
  if (fit.maximum < fit.minimum) {
    throw ConfigError(
        fmt::format("{}: sweep.fit goes from minimum = {} to maximum = {}: the maximum must be set, and not below the minimum", sweep.path,
                    fit.minimum, fit.maximum));
  }
  if (std::ranges::find(sweep.axes, fit.key, &Axis::key) != sweep.axes.end())
    throw ConfigError(fmt::format("{}: sweep.fit looks for {}, which is an axis as well", sweep.path, fit.key));
  if (fit.steps <= sweep.warmup_steps) {
    throw ConfigError(fmt::format("{}: sweep.fit.steps = {} leaves no step that counts after sweep.warmup_steps = {}", sweep.path,
                                  fit.steps, sweep.warmup_steps));
  }
  for (const std::int64_t value : {fit.minimum, fit.maximum}) {
    Config tried = sweep.config;
    tried.set(fit.key, std::to_string(value), fmt::format("sweep.fit of {}", sweep.path));
  }
}

}  // namespace

SweepFile read_sweep(const std::string& path, std::span<const std::string> sets) {
  SweepFile sweep;
  sweep.path = path;
  sweep.name = std::filesystem::path(path).stem().string();
  sweep.config = load_config(path, sets, kOwnTables);
  for (const TomlFile& file : read_with_bases(path)) {
    for (const TomlEntry& entry : file.entries) {
      if (std::ranges::find(kOwnTables, entry.key) != kOwnTables.end()) refuse(file, entry, "is a table of a sweep file, not a value");
      if (entry.key.starts_with("sweep.")) read_own_key(sweep, file, entry, entry.key.substr(6));
      if (entry.key.starts_with("axes.")) read_axis(sweep, file, entry, entry.key.substr(5));
    }
  }
  if (sweep.axes.empty())
    throw ConfigError(fmt::format("{}: a sweep needs an [axes] table, such as \"net.profile\" = [\"none\", \"ethernet-25g\"]", path));
  if (sweep.title.empty()) sweep.title = sweep.name;
  if (sweep.config.integer("train.steps") <= sweep.warmup_steps) {
    throw ConfigError(fmt::format("{}: train.steps = {} leaves nothing to measure after sweep.warmup_steps = {}", path,
                                  sweep.config.integer("train.steps"), sweep.warmup_steps));
  }
  check_baseline(sweep);
  check_fit(sweep);
  check_published(sweep);
  return sweep;
}

namespace {

/// Whether a point is one rank's again, over a network that it doesn't use.
bool repeats_one_rank(const SweepFile& sweep, const Point& point) {
  if (std::ranges::find(point, std::pair<std::string, std::string>("ranks", "1")) == point.end()) return false;
  return std::ranges::any_of(sweep.axes, [&](const Axis& axis) {
    const bool is_of_network = axis.key.starts_with("net.") || axis.key.starts_with("collective.");
    return is_of_network && std::ranges::find(point, std::pair(axis.key, axis.values.front())) == point.end();
  });
}

}  // namespace

std::vector<Point> points_of(const SweepFile& sweep) {
  std::vector<Point> points{{}};
  for (const Axis& axis : sweep.axes) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const std::string& value : axis.values) {
        longer.push_back(point);
        longer.back().emplace_back(axis.key, value);
      }
    }
    points = std::move(longer);
  }
  std::erase_if(points, [&](const Point& point) { return repeats_one_rank(sweep, point); });
  return points;
}

int ranks_of(const Point& point, int world_size) {
  for (const auto& [key, value] : point) {
    if (key == "ranks") return std::stoi(value);
  }
  return world_size;
}

Config config_of(const SweepFile& sweep, const Point& point, int ranks, std::optional<std::int64_t> fitted) {
  Config config = sweep.config;
  for (const auto& [key, value] : point) {
    if (key != "ranks") config.set(key, value, fmt::format("the axis {} of {}", key, sweep.path));
  }
  if (sweep.fit && fitted) config.set(sweep.fit->key, std::to_string(*fitted), fmt::format("sweep.fit of {}", sweep.path));
  for (const std::string& key : sweep.per_rank) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(config.integer(key), std::int64_t{ranks}, &product))
      throw ConfigError(fmt::format("sweep.per_rank of {}: {} times {} ranks is too large", sweep.path, key, ranks));
    config.set(key, std::to_string(product), fmt::format("sweep.per_rank of {}", sweep.path));
  }
  return config;
}

std::string to_line(const Point& point) {
  std::string line;
  for (const auto& [key, value] : point) line += fmt::format("{}{}={}", line.empty() ? "" : " ", key, value);
  return line;
}

std::string to_toml(const SweepFile& sweep, const Point& point) {
  std::string text;
  for (const auto& [key, value] : point) {
    const auto axis = std::ranges::find(sweep.axes, key, &Axis::key);
    const bool quoted = axis != sweep.axes.end() && axis->is_text;
    text += fmt::format("\"{}\" = {}\n", key, quoted ? toml_text(TomlValue::Scalar{value}) : value);
  }
  return text;
}

std::string to_slug(const Point& point) {
  std::string slug;
  for (const auto& [key, value] : point) {
    if (!slug.empty()) slug += '_';
    if (key == "ranks") slug += "ranks";
    slug += slug_of(value);
  }
  return slug;
}

}  // namespace twinax::app
