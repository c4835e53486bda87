#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "twinax/base/config.hpp"

namespace twinax::app {

/// One axis: a config key, or `ranks`, and the values it takes, as with --set.
struct Axis {
  std::string key;
  std::vector<std::string> values;
  bool is_text = false;  ///< whether values are quoted when a point is written down
};

/// Values of all axes (or, for a baseline, of some), in the axes' order.
using Point = std::vector<std::pair<std::string, std::string>>;

/// The key of which each point has the largest value for which it runs within its memory, found by trials.
struct FitAxis {
  std::string key;  ///< of the config; a whole number
  std::int64_t minimum = 1;
  std::int64_t maximum = 0;
  std::int64_t steps = 2;  ///< of a trial; those of the warm-up don't count
  double precision = 0;    ///< share of itself to which the value is looked for
};

/// Figures that were published elsewhere, which a report holds the measured ones against.
struct PublishedRow {
  std::string name{};
  std::string place{};  ///< file and line where it begins, for messages
  std::string label{};
  std::string source{};
  std::optional<double> efficiency{};  ///< of scaling, a share
  std::optional<double> speedup{};     ///< of the row's limiter over none
  std::optional<double> batch{};       ///< of a rank
  Point where{};                       ///< the axis values that it belongs to; axes left out may have any
};

/// A matrix of runs, as a file describes it.
struct SweepFile {
  std::string path;
  std::string name;  ///< the file's, without folder and ending
  std::string title;
  Config config;  ///< what all points have in common
  std::vector<Axis> axes;
  Point baseline;                     ///< the point that ratios refer to; axes it leaves out match the point compared
  std::vector<std::string> per_rank;  ///< integer keys multiplied by a point's ranks
  std::int64_t repeats_minimum = 6;
  std::int64_t repeats_maximum = 6;
  double precision = 0;  ///< half width of every interval over its median at which repeats stop; 0 = at the minimum
  std::int64_t warmup_steps = 1;
  std::optional<FitAxis> fit;
  std::vector<PublishedRow> published;
};

/// Reads a sweep; `sets` are applied to all points. Throws ConfigError that names file, line, key and what is allowed: an axis of an
/// unknown key, an empty axis, a value that its key refuses, fewer than 6 repeats (an interval of 95% needs them), a baseline or
/// published figures off the axes.
[[nodiscard]] SweepFile read_sweep(const std::string& path, std::span<const std::string> sets);

/// The matrix, the last axis fastest. One rank sends nothing: where `ranks` is an axis, points of one rank have the first value of each
/// axis of the network (net.*, collective.*) alone.
[[nodiscard]] std::vector<Point> points_of(const SweepFile& sweep);

/// A point's config: the common one, then its values and, where a key is to fit, `fitted` for it, then `per_rank` keys times `ranks`.
[[nodiscard]] Config config_of(const SweepFile& sweep, const Point& point, int ranks, std::optional<std::int64_t> fitted = std::nullopt);

/// How many ranks a point runs on: its `ranks`, else all.
[[nodiscard]] int ranks_of(const Point& point, int world_size);

/// "net.profile=ethernet-25g fsdp.limiter=none", for people.
[[nodiscard]] std::string to_line(const Point& point);
/// The same as TOML, a line an axis, for the record.
[[nodiscard]] std::string to_toml(const SweepFile& sweep, const Point& point);
/// "ethernet-25g_none_r2", a part of a file name.
[[nodiscard]] std::string to_slug(const Point& point);

}  // namespace twinax::app
