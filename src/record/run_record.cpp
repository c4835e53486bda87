#include "twinax/record/run_record.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/record/schema.hpp"

#include "record/columns.hpp"
#include "record/environment_attributes.hpp"
#include "record/hdf5.hpp"

namespace twinax::record {
namespace {

constexpr std::size_t kFlagBytes = 256;
constexpr std::size_t kRowsKept = 256;  // written even if nobody calls flush()

/// Ends the process without its exit handlers, in which HDF5 crashes on a full disk.
[[noreturn]] void end_process(const Error& error) {
  log_error(fmt::format("{}; the run ends here, what was flushed before stays readable", error.what()));
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

void write_head(hid_t root, const RecordHead& head, const std::string& path) {
  write_attribute(root, "schema", kRecordSchema, path);
  write_attribute(root, "kind", head.kind, path);
  write_attribute(root, "name", head.name, path);
  write_attribute(root, "created_utc", head.created_utc.empty() ? utc_now() : head.created_utc, path);
  write_attribute(root, "command", head.command, path);
  write_attribute(root, "complete", std::int64_t{0}, path);
  write_attribute(root, "choices", head.choices, path);
  write_attribute(root, "stands_for", head.stands_for, path);
  write_attribute(root, "parameters", head.parameters, path);
  write_attribute(root, "flags", head.flags, path, kFlagBytes);
  write_attribute(root, "dilation_drift", 0.0, path);
  write_attribute(root, "point", head.point, path);
  write_attribute(root, "repeat", head.repeat, path);
  write_attribute(root, "warmup_steps", head.warmup_steps, path);
}

std::string names_padded(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const std::string_view cut = cut_utf8(name, kNameBytes);
    text.append(cut).append(kNameBytes - cut.size(), '\0');
  }
  return text;
}

File create_groups(const std::string& path, const RecordHead& head) {
  check_record_path(path, true);
  std::error_code failed;
  std::filesystem::remove(path, failed);  // not truncated: who reads the old one keeps it
  if (failed) throw FileError(fmt::format("{}: can't be replaced: {}", path, failed.message()));
  File file = create_file(path);
  const Group root(check_hdf5(H5Gopen2(file.get(), "/", H5P_DEFAULT), "opening the root group", path));
  write_head(root.get(), head, path);
  for (const char* name : {"/steps", "/ranks", "/evaluation", "/links", "/clocks", "/devices", "/timeline", "/environment"}) {
    const Group group(
        check_hdf5(H5Gcreate2(file.get(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), fmt::format("creating {}", name), path));
    if (std::string_view(name) == "/environment") write_environment(group.get(), head.environment, path);
  }
  if (head.kind == "bench") {
    const Group group(check_hdf5(H5Gcreate2(file.get(), "/bench", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "creating /bench", path));
  }
  const std::string config_path(config_column().path);
  write_text_dataset(file.get(), config_path.c_str(), head.config_toml, path);
  const Dataset config(check_hdf5(H5Dopen2(file.get(), config_path.c_str(), H5P_DEFAULT), "opening /config", path));
  describe(config.get(), config_column(), path);
  return file;
}

}  // namespace

class RunRecord::Content {
 public:
  Content(const std::string& path, const RecordHead& head)
      : path_(path),
        ranks_(narrow<std::size_t>(head.environment.ranks)),
        purposes_(head.purposes.size()),
        file_(create_groups(path, head)),
        steps_(file_.get(), step_fields(), 0, path),
        by_rank_(file_.get(), rank_fields(), head.environment.ranks, path),
        evaluations_(file_.get(), evaluation_fields(), 0, path),
        devices_(file_.get(), device_fields(), 0, path),
        timeline_(file_.get(), timeline_fields(), 0, path) {
    if (head.kind == "bench") bench_.emplace(file_.get(), bench_fields(), 0, path);
    const std::array<hsize_t, 3> links_shape{ranks_, ranks_, purposes_};
    const std::vector<std::int64_t> none(ranks_ * ranks_ * purposes_, 0);
    links_ = create_fixed(file_.get(), links_column(), links_shape, none.data(), path);
    create_fixed(file_.get(), purposes_column(), std::span(links_shape).last(1), names_padded(head.purposes).data(), path);
    const std::vector<double> offsets(ranks_, 0.0);
    create_fixed(file_.get(), clocks_column(), std::span(links_shape).first(1), offsets.data(), path);
    check_hdf5(H5Fstart_swmr_write(file_.get()), "starting SWMR", path);
  }

  void append_step(const StepRow& row, std::span<const RankRow> ranks) {
    if (ranks.size() != ranks_) throw InvalidArgument(fmt::format("a step of {} ranks for a record of {}", ranks.size(), ranks_));
    steps_.append(row);
    for (const RankRow& rank : ranks) by_rank_.append(rank);
    keep(1);
  }

  void append_evaluation(const EvaluationRow& row) {
    evaluations_.append(row);
    keep(1);
  }

  void append_devices(std::span<const DeviceRow> rows) {
    for (const DeviceRow& row : rows) devices_.append(row);
    keep(rows.size());
  }

  void append_timeline(std::span<const TimelineRow> rows) {
    for (const TimelineRow& row : rows) timeline_.append(row);
    keep(rows.size());
  }

  void append_bench(const BenchRow& row) {
    if (!bench_) throw InvalidArgument("a benchmark's figure for a record of another kind");
    bench_->append(row);
    keep(1);
  }

  void set_links(std::span<const std::int64_t> bytes) {
    const std::size_t expected = ranks_ * ranks_ * purposes_;
    if (bytes.size() != expected) {
      throw InvalidArgument(fmt::format("{} counts of bytes for {} ranks and {} purposes", bytes.size(), ranks_, purposes_));
    }
    check_hdf5(H5Dwrite(links_.get(), native_int64(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "writing /links/bytes", path_);
  }

  template <class Value>
  void set_attribute(const char* name, Value value) {
    change_attribute(file_.get(), name, value, path_);
  }

  void flush() {
    by_rank_.flush();  // before the steps, by which a reader counts
    devices_.flush();
    timeline_.flush();
    evaluations_.flush();
    if (bench_) bench_->flush();
    steps_.flush();
    check_hdf5(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing the record", path_);
    kept_ = 0;
  }

  void close() {
    flush();
    set_attribute("complete", std::int64_t{1});
    check_hdf5(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing the record", path_);
  }

  /// Closes the file itself, when all its datasets are closed, and reports a failure, as a destructor can't.
  static void close_file(std::unique_ptr<Content> content) {
    File file = std::move(content->file_);
    const std::string path = content->path_;
    content.reset();
    check_hdf5(H5Fclose(file.release()), "closing the record", path);
  }

 private:
  void keep(std::size_t rows) {
    kept_ += rows;
    if (kept_ >= kRowsKept) flush();
  }

  std::string path_;
  std::size_t ranks_;
  std::size_t purposes_;
  File file_;  // before the datasets: closed after them
  Table<StepRow> steps_;
  Table<RankRow> by_rank_;
  Table<EvaluationRow> evaluations_;
  Table<DeviceRow> devices_;
  Table<TimelineRow> timeline_;
  std::optional<Table<BenchRow>> bench_;  // of a benchmark's record
  Dataset links_;
  std::size_t kept_ = 0;
};

namespace {

/// Does what may fail on a full disk.
template <class Body>
void or_end_process(Body&& body) {
  try {
    body();
  } catch (const Hdf5Error& error) {
    end_process(error);
  }
}

}  // namespace

RunRecord::RunRecord(const std::string& path, const RecordHead& head, bool overwrite) {
  check_record_path(path, overwrite);
  content_ = std::make_unique<Content>(path, head);
}

RunRecord::~RunRecord() = default;

void RunRecord::append_step(const StepRow& row, std::span<const RankRow> ranks) {
  or_end_process([&] { content_->append_step(row, ranks); });
}

void RunRecord::append_evaluation(const EvaluationRow& row) {
  or_end_process([&] { content_->append_evaluation(row); });
}

void RunRecord::append_devices(std::span<const DeviceRow> rows) {
  or_end_process([&] { content_->append_devices(rows); });
}

void RunRecord::append_timeline(std::span<const TimelineRow> rows) {
  or_end_process([&] { content_->append_timeline(rows); });
}

void RunRecord::append_bench(const BenchRow& row) {
  or_end_process([&] { content_->append_bench(row); });
}

void RunRecord::set_links(std::span<const std::int64_t> bytes) {
  or_end_process([&] { content_->set_links(bytes); });
}

void RunRecord::set_dilation_drift(double drift) {
  or_end_process([&] { content_->set_attribute("dilation_drift", drift); });
}

void RunRecord::set_flags(std::string_view flags) {
  or_end_process([&] { content_->set_attribute("flags", flags); });
}

void RunRecord::flush() {
  or_end_process([&] { content_->flush(); });
}

void RunRecord::close() {
  if (!content_) return;
  or_end_process([&] {
    content_->close();
    Content::close_file(std::move(content_));
  });
}

}  // namespace twinax::record
