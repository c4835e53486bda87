#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace twinax::record {

/// One axis of a sweep: a config key, or `ranks`, and its values as text.
struct IndexAxis {
  std::string key{};
  std::vector<std::string> values{};
};

/// One recorded run of a sweep.
struct IndexRun {
  std::string point{};  ///< TOML text of axis values
  std::int64_t repeat = 0;
  std::string file{};  ///< relative to the index
};

/// One run that was made to find the largest value that fits, or that ran out of memory.
struct IndexTrial {
  std::string point{};      ///< TOML text of axis values
  std::int64_t value = -1;  ///< of the key that is to fit; -1 if the sweep has none
  std::int64_t retries = 0;
  std::string outcome{};  ///< "fits", "retries" or "out of memory"
  std::string reason{};   ///< what did not fit, in words; empty if it ran
};

/// Figures that were published elsewhere, for comparison; NaN where none is given.
struct IndexPublished {
  std::string name{};
  std::string label{};
  std::string source{};
  std::string where{};  ///< TOML text of the axis values that they belong to
  double efficiency = std::numeric_limits<double>::quiet_NaN();
  double speedup = std::numeric_limits<double>::quiet_NaN();
  double batch = std::numeric_limits<double>::quiet_NaN();
};

/// What index.h5 says of a sweep.
struct SweepIndex {
  std::string name{};
  std::string title{};
  std::vector<IndexAxis> axes{};
  std::vector<std::string> points{};  ///< TOML text of axis values, the whole matrix in order
  std::string baseline{};             ///< TOML text of some axes' values: the point that ratios refer to
  std::int64_t repeats_minimum = 0;
  std::int64_t repeats_maximum = 0;
  std::int64_t warmup_steps = 0;
  std::string stands_for{};
  std::vector<IndexRun> runs{};  ///< recorded so far
  std::string fit{};             ///< the key of which each point has the largest value that fits; empty if there is none
  std::vector<IndexTrial> trials{};
  std::vector<IndexPublished> published{};
};

/// Writes the index anew, aside and renamed: readers see the old one or the new one, whole.
/// Throws FileError or Hdf5Error.
void write_sweep_index(const std::string& path, const SweepIndex& index);

/// Reads it back. Throws FileError.
[[nodiscard]] SweepIndex read_sweep_index(const std::string& path);

}  // namespace twinax::record
