#include "twinax/record/sweep_index.hpp"

#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/record/schema.hpp"

#include "record/hdf5.hpp"
#include "record/record_path.hpp"

namespace twinax::record {
namespace {

constexpr std::string_view kAxes = "/axes";

Dataspace line_of(std::size_t count, const std::string& path) {
  const hsize_t extent = count;
  return Dataspace(check_hdf5(H5Screate_simple(1, &extent, nullptr), "making a space", path));
}

/// Whether there is such a group or dataset, in a group that there is.
bool has_link(hid_t file, const char* name) {
  return H5Lexists(file, name, H5P_DEFAULT) > 0;
}

/// A one-dimensional dataset of fixed-length strings, as long as the longest.
void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts, const std::string& path) {
  std::size_t bytes = 1;
  for (const std::string& text : texts) bytes = std::max(bytes, text.size());
  std::string padded;
  for (const std::string& text : texts) padded.append(text).append(bytes - text.size(), '\0');
  const std::string doing = fmt::format("writing {}", name);
  const Datatype type = string_type(bytes, path);
  const Dataspace space = line_of(texts.size(), path);
  const Dataset dataset(check_hdf5(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), doing, path));
  if (!texts.empty()) check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), doing, path);
}

void write_ints(hid_t file, const char* name, const std::vector<std::int64_t>& values, const std::string& path) {
  const std::string doing = fmt::format("writing {}", name);
  const Dataspace space = line_of(values.size(), path);
  const Dataset dataset(check_hdf5(H5Dcreate2(file, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), doing, path));
  if (!values.empty()) check_hdf5(H5Dwrite(dataset.get(), native_int64(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), doing, path);
}

void write_doubles(hid_t file, const char* name, const std::vector<double>& values, const std::string& path) {
  const std::string doing = fmt::format("writing {}", name);
  const Dataspace space = line_of(values.size(), path);
  const Dataset dataset(
      check_hdf5(H5Dcreate2(file, name, H5T_IEEE_F64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), doing, path));
  if (!values.empty()) check_hdf5(H5Dwrite(dataset.get(), native_double(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), doing, path);
}

std::size_t count_of(const Dataset& dataset, const std::string& doing, const std::string& path) {
  const Dataspace space(check_hdf5(H5Dget_space(dataset.get()), doing, path));
  return static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_npoints(space.get()), doing, path));
}

std::vector<std::string> read_texts(hid_t file, const char* name, const std::string& path) {
  const std::string doing = fmt::format("reading {}", name);
  const Dataset dataset(check_hdf5(H5Dopen2(file, name, H5P_DEFAULT), doing, path));
  const Datatype type(check_hdf5(H5Dget_type(dataset.get()), doing, path));
  const std::size_t bytes = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) > 0) {
    throw FileError(fmt::format("{}: {} holds no fixed-length strings", path, name));
  }
  std::string padded(bytes * count_of(dataset, doing, path), '\0');
  if (!padded.empty()) check_hdf5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), doing, path);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < padded.size(); at += bytes) {
    std::string text = padded.substr(at, bytes);
    text.resize(std::min(text.size(), text.find('\0')));
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::int64_t> read_ints(hid_t file, const char* name, const std::string& path) {
  const std::string doing = fmt::format("reading {}", name);
  const Dataset dataset(check_hdf5(H5Dopen2(file, name, H5P_DEFAULT), doing, path));
  std::vector<std::int64_t> values(count_of(dataset, doing, path));
  if (!values.empty()) check_hdf5(H5Dread(dataset.get(), native_int64(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), doing, path);
  return values;
}

std::vector<double> read_doubles(hid_t file, const char* name, const std::string& path) {
  const std::string doing = fmt::format("reading {}", name);
  const Dataset dataset(check_hdf5(H5Dopen2(file, name, H5P_DEFAULT), doing, path));
  std::vector<double> values(count_of(dataset, doing, path));
  if (!values.empty()) check_hdf5(H5Dread(dataset.get(), native_double(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), doing, path);
  return values;
}

void write_runs(hid_t file, const std::vector<IndexRun>& runs, const std::string& path) {
  std::vector<std::string> points, files;
  std::vector<std::int64_t> repeats;
  for (const IndexRun& run : runs) {
    points.push_back(run.point);
    repeats.push_back(run.repeat);
    files.push_back(run.file);
  }
  write_texts(file, "/runs/point", points, path);
  write_ints(file, "/runs/repeat", repeats, path);
  write_texts(file, "/runs/file", files, path);
}

void write_trials(hid_t file, const std::vector<IndexTrial>& trials, const std::string& path) {
  std::vector<std::string> points, outcomes, reasons;
  std::vector<std::int64_t> values, retries;
  for (const IndexTrial& trial : trials) {
    points.push_back(trial.point);
    values.push_back(trial.value);
    retries.push_back(trial.retries);
    outcomes.push_back(trial.outcome);
    reasons.push_back(trial.reason);
  }
  write_texts(file, "/trials/point", points, path);
  write_ints(file, "/trials/value", values, path);
  write_ints(file, "/trials/retries", retries, path);
  write_texts(file, "/trials/outcome", outcomes, path);
  write_texts(file, "/trials/reason", reasons, path);
}

void write_published(hid_t file, const std::vector<IndexPublished>& published, const std::string& path) {
  std::vector<std::string> names, labels, sources, wheres;
  std::vector<double> efficiencies, speedups, batches;
  for (const IndexPublished& row : published) {
    names.push_back(row.name);
    labels.push_back(row.label);
    sources.push_back(row.source);
    wheres.push_back(row.where);
    efficiencies.push_back(row.efficiency);
    speedups.push_back(row.speedup);
    batches.push_back(row.batch);
  }
  write_texts(file, "/published/name", names, path);
  write_texts(file, "/published/label", labels, path);
  write_texts(file, "/published/source", sources, path);
  write_texts(file, "/published/where", wheres, path);
  write_doubles(file, "/published/efficiency", efficiencies, path);
  write_doubles(file, "/published/speedup", speedups, path);
  write_doubles(file, "/published/batch", batches, path);
}

void write_content(const File& file, const SweepIndex& index, const std::string& path) {
  write_attribute(file.get(), "schema", kIndexSchema, path);
  write_attribute(file.get(), "name", index.name, path);
  write_attribute(file.get(), "title", index.title, path);
  write_attribute(file.get(), "baseline", index.baseline, path);
  write_attribute(file.get(), "stands_for", index.stands_for, path);
  write_attribute(file.get(), "repeats_minimum", index.repeats_minimum, path);
  write_attribute(file.get(), "repeats_maximum", index.repeats_maximum, path);
  write_attribute(file.get(), "warmup_steps", index.warmup_steps, path);
  write_attribute(file.get(), "fit", index.fit, path);
  for (const char* name : {"/axes", "/runs", "/trials", "/published"}) {
    const Group group(
        check_hdf5(H5Gcreate2(file.get(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), fmt::format("creating {}", name), path));
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < index.axes.size(); ++i) {
    keys.push_back(index.axes[i].key);
    write_texts(file.get(), fmt::format("{}/values_{}", kAxes, i).c_str(), index.axes[i].values, path);
  }
  write_texts(file.get(), "/axes/key", keys, path);
  write_texts(file.get(), "/points", index.points, path);
  write_runs(file.get(), index.runs, path);
  write_trials(file.get(), index.trials, path);
  write_published(file.get(), index.published, path);
}

void read_trials(hid_t file, SweepIndex& index, const std::string& path) {
  if (!has_attribute(file, "fit")) return;  // of an earlier program
  index.fit = read_text_attribute(file, "fit", path);
  const std::vector<std::string> points = read_texts(file, "/trials/point", path);
  const std::vector<std::int64_t> values = read_ints(file, "/trials/value", path);
  const std::vector<std::int64_t> retries = read_ints(file, "/trials/retries", path);
  const std::vector<std::string> outcomes = read_texts(file, "/trials/outcome", path);
  std::vector<std::string> reasons(points.size());
  if (has_link(file, "/trials/reason")) reasons = read_texts(file, "/trials/reason", path);
  if (values.size() != points.size() || retries.size() != points.size() || outcomes.size() != points.size() ||
      reasons.size() != points.size()) {
    throw FileError(fmt::format("{}: the columns of /trials are of different lengths", path));
  }
  for (std::size_t i = 0; i < points.size(); ++i) index.trials.push_back({points[i], values[i], retries[i], outcomes[i], reasons[i]});
}

void read_published(hid_t file, SweepIndex& index, const std::string& path) {
  if (!has_link(file, "/published")) return;  // of an earlier program
  const std::vector<std::string> names = read_texts(file, "/published/name", path);
  const std::vector<std::string> labels = read_texts(file, "/published/label", path);
  const std::vector<std::string> sources = read_texts(file, "/published/source", path);
  const std::vector<std::string> wheres = read_texts(file, "/published/where", path);
  const std::vector<double> efficiencies = read_doubles(file, "/published/efficiency", path);
  const std::vector<double> speedups = read_doubles(file, "/published/speedup", path);
  const std::vector<double> batches = read_doubles(file, "/published/batch", path);
  for (const std::size_t size : {labels.size(), sources.size(), wheres.size(), efficiencies.size(), speedups.size(), batches.size()}) {
    if (size != names.size()) throw FileError(fmt::format("{}: the columns of /published are of different lengths", path));
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    index.published.push_back({names[i], labels[i], sources[i], wheres[i], efficiencies[i], speedups[i], batches[i]});
}

SweepIndex read_content(const File& file, const std::string& path) {
  SweepIndex index;
  index.name = read_text_attribute(file.get(), "name", path);
  index.title = read_text_attribute(file.get(), "title", path);
  index.baseline = read_text_attribute(file.get(), "baseline", path);
  index.stands_for = read_text_attribute(file.get(), "stands_for", path);
  index.repeats_minimum = read_int_attribute(file.get(), "repeats_minimum", path);
  index.repeats_maximum = read_int_attribute(file.get(), "repeats_maximum", path);
  index.warmup_steps = read_int_attribute(file.get(), "warmup_steps", path);
  const std::vector<std::string> keys = read_texts(file.get(), "/axes/key", path);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    index.axes.push_back({keys[i], read_texts(file.get(), fmt::format("{}/values_{}", kAxes, i).c_str(), path)});
  }
  index.points = read_texts(file.get(), "/points", path);
  const std::vector<std::string> points = read_texts(file.get(), "/runs/point", path);
  const std::vector<std::int64_t> repeats = read_ints(file.get(), "/runs/repeat", path);
  const std::vector<std::string> files = read_texts(file.get(), "/runs/file", path);
  if (repeats.size() != points.size() || files.size() != points.size()) {
    throw FileError(fmt::format("{}: the columns of /runs are of different lengths", path));
  }
  for (std::size_t i = 0; i < points.size(); ++i) index.runs.push_back({points[i], repeats[i], files[i]});
  read_trials(file.get(), index, path);
  read_published(file.get(), index, path);
  return index;
}

}  // namespace

void write_sweep_index(const std::string& path, const SweepIndex& index) {
  make_folder_of(path);
  const std::string written = aside(path);
  ::unlink(written.c_str());  // of an earlier process with the same number
  try {
    File file = create_file(written);
    write_content(file, index, path);
    check_hdf5(H5Fclose(file.release()), "closing the index", path);
    publish(written, path);
  } catch (const Error&) {
    ::unlink(written.c_str());
    throw;
  }
}

SweepIndex read_sweep_index(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw FileError(fmt::format("{}: there is no such file", path));
  try {
    const File file = open_file(path, H5F_ACC_RDONLY);
    const std::string schema = has_attribute(file.get(), "schema") ? read_text_attribute(file.get(), "schema", path) : "";
    if (schema != kIndexSchema) throw FileError(fmt::format("{}: its schema is \"{}\", not {}", path, schema, kIndexSchema));
    return read_content(file, path);
  } catch (const Hdf5Error& error) {
    throw FileError(fmt::format("can't read the sweep's index: {}", error.what()));
  }
}

}  // namespace twinax::record
