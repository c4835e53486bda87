#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/record/environment.hpp"
#include "twinax/record/rows.hpp"

namespace twinax::record {

/// What is known of a run before its first step.
struct RecordHead {
  std::string kind = "train";  ///< "train", "rehearse", "plan" or "bench"
  std::string name{};
  std::string command{};      ///< as typed
  std::string config_toml{};  ///< the effective config
  std::string created_utc{};  ///< empty = now
  Environment environment;
  std::vector<std::string> purposes{};  ///< of the bytes counted in /links, in the order of set_links
  std::string choices{};                ///< made by timing, agreed by all ranks; as --same-choices-as reads them
  std::string stands_for{};             ///< the cluster and model that an emulation stands for; empty if none
  std::int64_t parameters = 0;          ///< of the model that was trained
  std::string flags{};                  ///< what the reader must know ("oversubscribed"), words with spaces between
  // What a sweep writes.
  std::string point{};  ///< TOML text of axis values
  std::int64_t repeat = -1;
  std::int64_t warmup_steps = 0;
};

/// Makes sure that a record can be written to `path`, before anything is computed: makes its folder, writes and removes a probe.
///
/// Throws: FileError that says what is wrong (a read-only or full folder; a complete record that `overwrite` doesn't allow to replace).
void check_record_path(const std::string& path, bool overwrite);

/// Writes a run's record (HDF5, schema `twinax-record/1`) in SWMR mode: others can read it while it grows. Held by rank 0 only.
///
/// Rows are kept until flush(), which writes all columns; a reader uses the shortest column. A file that isn't closed by close() stays
/// marked incomplete (`complete` is 0).
///
/// Threads: one; all HDF5 calls of a process are made on it.
/// Failure: once the file is open, a failed write is printed and ends the process by _exit: HDF5 can't be left in order on a full disk.
class RunRecord {
 public:
  /// Creates the file, and its folder if missing. An existing file is replaced if it is an incomplete record or `overwrite` is set.
  /// Throws FileError or Hdf5Error before the first step.
  RunRecord(const std::string& path, const RecordHead& head, bool overwrite = false);
  ~RunRecord();
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;

  /// Adds a step. ranks [head.environment.ranks].
  void append_step(const StepRow& row, std::span<const RankRow> ranks);
  /// Adds an evaluation.
  void append_evaluation(const EvaluationRow& row);
  /// Adds network devices, with what they counted before and after the run.
  void append_devices(std::span<const DeviceRow> rows);
  /// Adds events of the timeline.
  void append_timeline(std::span<const TimelineRow> rows);
  /// Adds a figure; of records of kind "bench" alone. Throws InvalidArgument in another.
  void append_bench(const BenchRow& row);
  /// Sets the bytes sent so far: bytes [from * ranks * purposes + to * purposes + purpose].
  void set_links(std::span<const std::int64_t> bytes);
  /// Sets how far the machine's rate has moved from the one that the dilation was fixed by, as a ratio minus 1.
  void set_dilation_drift(double drift);
  /// Sets the flags anew, up to 256 bytes.
  void set_flags(std::string_view flags);
  /// Makes everything appended so far readable by others.
  void flush();
  /// Flushes, marks the record as complete and closes it. A second call does nothing.
  void close();

 private:
  class Content;
  std::unique_ptr<Content> content_;
};

}  // namespace twinax::record
