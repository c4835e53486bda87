#include "record/hdf5.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace twinax::record {
namespace {

/// HDF5's error stack, from the innermost call: the first two descriptions say what happened.
std::string hdf5_words() {
  std::vector<std::string> lines;
  const auto collect = [](unsigned, const H5E_error2_t* error, void* into) -> herr_t {
    if (error->desc != nullptr && *error->desc != '\0') static_cast<std::vector<std::string>*>(into)->emplace_back(error->desc);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &lines);
  constexpr std::size_t kShown = 2;
  lines.resize(std::min(lines.size(), kShown));
  return lines.empty() ? "HDF5 gives no reason" : fmt::format("{}", fmt::join(lines, "; "));
}

PropertyList file_access() {
  PropertyList access(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "making file access properties", "-"));
  check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "choosing the file format", "-");
  check_hdf5(H5Pset_file_locking(access.get(), 0, 1), "turning file locks off", "-");
  return access;
}

Dataspace scalar(const std::string& file) {
  return Dataspace(check_hdf5(H5Screate(H5S_SCALAR), "making a space for one value", file));
}

Attribute open_attribute(hid_t object, const char* name, const std::string& file) {
  return Attribute(check_hdf5(H5Aopen(object, name, H5P_DEFAULT), fmt::format("opening the attribute {}", name), file));
}

void create_attribute(hid_t object, const char* name, hid_t type, const void* value, const std::string& file) {
  const std::string doing = fmt::format("writing the attribute {}", name);
  const Dataspace space = scalar(file);
  const Attribute attribute(check_hdf5(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), doing, file));
  check_hdf5(H5Awrite(attribute.get(), type, value), doing, file);
}

void set_attribute(hid_t object, const char* name, hid_t type, const void* value, const std::string& file) {
  const Attribute attribute = open_attribute(object, name, file);
  check_hdf5(H5Awrite(attribute.get(), type, value), fmt::format("changing the attribute {}", name), file);
}

/// The length of a fixed-length string type; other types are refused.
std::size_t text_length(hid_t type, const char* name, const std::string& file) {
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) {
    throw Hdf5Error(-1, fmt::format("{}: {} is no fixed-length string", file, name));
  }
  return H5Tget_size(type);
}

std::string padded(std::string_view text, std::size_t bytes) {
  std::string value(cut_utf8(text, bytes));
  value.resize(bytes, '\0');
  return value;
}

std::string unpadded(std::string value) {
  value.resize(std::min(value.size(), value.find('\0')));
  return value;
}

template <class Value>
Value read_number(hid_t object, const char* name, hid_t memory_type, H5T_class_t expected, const std::string& file) {
  const Attribute attribute = open_attribute(object, name, file);
  const Datatype type(check_hdf5(H5Aget_type(attribute.get()), fmt::format("reading the attribute {}", name), file));
  if (H5Tget_class(type.get()) != expected) throw Hdf5Error(-1, fmt::format("{}: the attribute {} is of another type", file, name));
  Value value{};
  check_hdf5(H5Aread(attribute.get(), memory_type, &value), fmt::format("reading the attribute {}", name), file);
  return value;
}

}  // namespace

void silence_hdf5() {
  static const herr_t done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  static_cast<void>(done);
}

hid_t check_hdf5(hid_t returned, std::string_view doing, const std::string& file, Where where) {
  if (returned >= 0) return returned;
  throw Hdf5Error(static_cast<long>(returned), fmt::format("{}: {}: {} ({}:{})", file, doing, hdf5_words(), where.file, where.line));
}

File create_file(const std::string& path) {
  silence_hdf5();
  return File(check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, file_access().get()), "creating the file", path));
}

File open_file(const std::string& path, unsigned flags) {
  silence_hdf5();
  return File(check_hdf5(H5Fopen(path.c_str(), flags, file_access().get()), "opening the file", path));
}

Datatype string_type(std::size_t bytes, const std::string& file) {
  Datatype type(check_hdf5(H5Tcopy(H5T_C_S1), "making a string type", file));
  check_hdf5(H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1)), "making a string type", file);
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "making a string type", file);
  check_hdf5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "making a string type", file);
  return type;
}

hid_t native_double() {
  return H5T_NATIVE_DOUBLE;
}

hid_t native_int64() {
  return H5T_NATIVE_INT64;
}

void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& file, std::size_t capacity) {
  const std::size_t bytes = std::max<std::size_t>({text.size(), capacity, 1});
  create_attribute(object, name, string_type(bytes, file).get(), padded(text, bytes).data(), file);
}

void write_attribute(hid_t object, const char* name, std::int64_t value, const std::string& file) {
  create_attribute(object, name, native_int64(), &value, file);
}

void write_attribute(hid_t object, const char* name, double value, const std::string& file) {
  create_attribute(object, name, native_double(), &value, file);
}

void change_attribute(hid_t object, const char* name, std::string_view text, const std::string& file) {
  const Attribute attribute = open_attribute(object, name, file);
  const std::string doing = fmt::format("changing the attribute {}", name);
  const Datatype type(check_hdf5(H5Aget_type(attribute.get()), doing, file));
  check_hdf5(H5Awrite(attribute.get(), type.get(), padded(text, text_length(type.get(), name, file)).data()), doing, file);
}

void change_attribute(hid_t object, const char* name, std::int64_t value, const std::string& file) {
  set_attribute(object, name, native_int64(), &value, file);
}

void change_attribute(hid_t object, const char* name, double value, const std::string& file) {
  set_attribute(object, name, native_double(), &value, file);
}

bool has_attribute(hid_t object, const char* name) {
  return H5Aexists(object, name) > 0;
}

std::string read_text_attribute(hid_t object, const char* name, const std::string& file) {
  const std::string doing = fmt::format("reading the attribute {}", name);
  const Attribute attribute = open_attribute(object, name, file);
  const Datatype type(check_hdf5(H5Aget_type(attribute.get()), doing, file));
  std::string value(text_length(type.get(), name, file), '\0');
  check_hdf5(H5Aread(attribute.get(), type.get(), value.data()), doing, file);
  return unpadded(std::move(value));
}

std::int64_t read_int_attribute(hid_t object, const char* name, const std::string& file) {
  return read_number<std::int64_t>(object, name, native_int64(), H5T_INTEGER, file);
}

double read_double_attribute(hid_t object, const char* name, const std::string& file) {
  return read_number<double>(object, name, native_double(), H5T_FLOAT, file);
}

void write_text_dataset(hid_t parent, const char* path, std::string_view text, const std::string& file) {
  const std::string doing = fmt::format("writing {}", path);
  const Datatype type = string_type(text.size(), file);
  const Dataspace space = scalar(file);
  const Dataset dataset(check_hdf5(H5Dcreate2(parent, path, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), doing, file));
  const std::string value = padded(text, std::max<std::size_t>(text.size(), 1));
  check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()), doing, file);
}

std::string read_text_dataset(hid_t parent, const char* path, const std::string& file) {
  const std::string doing = fmt::format("reading {}", path);
  const Dataset dataset(check_hdf5(H5Dopen2(parent, path, H5P_DEFAULT), doing, file));
  const Datatype type(check_hdf5(H5Dget_type(dataset.get()), doing, file));
  std::string value(text_length(type.get(), path, file), '\0');
  check_hdf5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()), doing, file);
  return unpadded(std::move(value));
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & kContinuationMask) == kContinuation) --bytes;
  return text.substr(0, bytes);
}

}  // namespace twinax::record
