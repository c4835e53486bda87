#pragma once

#include <cstdint>
#include <string>

#include "twinax/record/environment.hpp"

namespace twinax::record {

/// What a sweep or a later run needs to know of a record.
struct RecordFacts {
  bool is_complete = false;
  std::string kind{};
  std::string name{};
  std::string config_toml{};
  std::string choices{};
  std::string point{};
  std::int64_t repeat = -1;
  std::int64_t warmup_steps = 0;
  std::int64_t parameters = 0;
  double dilation_drift = 0;
  std::string flags{};
  std::string stands_for{};
  Environment environment;
  std::int64_t steps = 0;          ///< that are whole in every column
  double median_step_seconds = 0;  ///< after the warm-up steps; NaN if there is no such step
  double last_loss = 0;            ///< NaN if there is no step
  double last_bits_per_byte = 0;   ///< NaN if nothing was evaluated
};

/// Reads a record, also one that is being written or whose writer was killed.
/// Throws FileError that names the file: it is missing, no record, of a newer schema, or lacks a column.
[[nodiscard]] RecordFacts read_record(const std::string& path);

/// Whether there is a record at `path` that was closed properly. Never throws for a missing, foreign or damaged file: those are not
/// complete.
[[nodiscard]] bool is_complete_record(const std::string& path);

/// Clears the mark that a killed writer leaves, so that any HDF5 tool opens the file; `complete` stays 0. Returns whether there was one.
/// Throws FileError if the file is missing or no record.
bool repair_record(const std::string& path);

}  // namespace twinax::record
