#include "twinax/record/read_record.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/record/schema.hpp"

#include "record/environment_attributes.hpp"
#include "record/hdf5.hpp"

namespace twinax::record {
namespace {

/// Opens a record: plainly, or as a reader beside a writer (or after a killed one).
File open_record(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw FileError(fmt::format("{}: there is no such file", path));
  silence_hdf5();
  if (H5Fis_hdf5(path.c_str()) <= 0) throw FileError(fmt::format("{}: is no HDF5 file", path));
  try {
    return open_file(path, H5F_ACC_RDONLY);
  } catch (const Hdf5Error&) {
    return open_file(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
  }
}

void check_schema(hid_t file, const std::string& path) {
  const std::string schema = has_attribute(file, "schema") ? read_text_attribute(file, "schema", path) : "";
  if (schema == kRecordSchema) return;
  if (schema.starts_with("twinax-record/")) {
    throw FileError(fmt::format("{}: is of schema {}, this program reads {}; use a newer twinax", path, schema, kRecordSchema));
  }
  throw FileError(fmt::format("{}: is no run record (its schema is \"{}\")", path, schema));
}

/// A column's values (its first dimension; the file may be growing).
std::vector<double> read_column(hid_t file, const char* name, const std::string& path) {
  const std::string doing = fmt::format("reading {}", name);
  const Dataset dataset(check_hdf5(H5Dopen2(file, name, H5P_DEFAULT), doing, path));
  const Dataspace space(check_hdf5(H5Dget_space(dataset.get()), doing, path));
  const auto rows = static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_npoints(space.get()), doing, path));
  std::vector<double> values(rows);
  if (rows > 0) {
    check_hdf5(H5Dread(dataset.get(), native_double(), H5S_ALL, space.get(), H5P_DEFAULT, values.data()), doing, path);
  }
  return values;
}

std::int64_t whole_steps(hid_t file, const std::string& path) {
  std::int64_t least = -1;
  for (const Field<StepRow>& field : step_fields()) {
    const std::string name(field.column.path);
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) continue;  // a record made before there was such a column
    const Dataset dataset(check_hdf5(H5Dopen2(file, name.c_str(), H5P_DEFAULT), fmt::format("opening {}", name), path));
    const Dataspace space(check_hdf5(H5Dget_space(dataset.get()), fmt::format("reading {}", name), path));
    const std::int64_t rows = check_hdf5(H5Sget_simple_extent_npoints(space.get()), fmt::format("reading {}", name), path);
    least = least < 0 ? rows : std::min(least, rows);
  }
  return least;
}

double median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void read_steps(hid_t file, const std::string& path, RecordFacts& facts) {
  facts.steps = whole_steps(file, path);
  const auto whole = static_cast<std::size_t>(facts.steps);
  std::vector<double> seconds = read_column(file, "/steps/seconds", path);
  seconds.resize(std::min(seconds.size(), whole));
  const auto warmup = std::min(seconds.size(), static_cast<std::size_t>(std::max<std::int64_t>(facts.warmup_steps, 0)));
  seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(warmup));
  std::erase_if(seconds, [](double value) { return std::isnan(value); });
  facts.median_step_seconds = median(std::move(seconds));
  const std::vector<double> loss = read_column(file, "/steps/loss", path);
  facts.last_loss = whole > 0 && loss.size() >= whole ? loss[whole - 1] : kUnknown;
  const std::vector<double> bits = read_column(file, "/evaluation/bits_per_byte", path);
  facts.last_bits_per_byte = bits.empty() ? kUnknown : bits.back();
}

}  // namespace

RecordFacts read_record(const std::string& path) {
  try {
    const File file = open_record(path);
    check_schema(file.get(), path);
    RecordFacts facts;
    const auto text = [&](const char* name) { return read_text_attribute(file.get(), name, path); };
    const auto number = [&](const char* name) { return read_int_attribute(file.get(), name, path); };
    facts.is_complete = number("complete") == 1;
    facts.kind = text("kind");
    facts.name = text("name");
    facts.choices = text("choices");
    facts.point = text("point");
    facts.flags = text("flags");
    facts.stands_for = text("stands_for");
    facts.repeat = number("repeat");
    facts.warmup_steps = number("warmup_steps");
    facts.parameters = number("parameters");
    facts.dilation_drift = read_double_attribute(file.get(), "dilation_drift", path);
    facts.config_toml = read_text_dataset(file.get(), "/config", path);
    const Group group(check_hdf5(H5Gopen2(file.get(), "/environment", H5P_DEFAULT), "opening /environment", path));
    facts.environment = read_environment(group.get(), path);
    read_steps(file.get(), path, facts);
    return facts;
  } catch (const Hdf5Error& error) {
    throw FileError(fmt::format("can't read the record: {}", error.what()));
  }
}

bool is_complete_record(const std::string& path) {
  try {
    const File file = open_record(path);
    return has_attribute(file.get(), "schema") && read_text_attribute(file.get(), "schema", path).starts_with("twinax-record/") &&
           read_int_attribute(file.get(), "complete", path) == 1;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace twinax::record
