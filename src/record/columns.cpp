#include "record/columns.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace twinax::record {
namespace {

constexpr hsize_t kChunkRows = 256;
constexpr hsize_t kChunkValues = 4096;  // of a chunk with two dimensions

/// The type in the file, which is little-endian on every machine; HDF5 converts from memory.
Datatype file_type(std::string_view type, const std::string& path) {
  if (type == "string") return string_type(kNameBytes, path);
  return Datatype(check_hdf5(H5Tcopy(type == "int64" ? H5T_STD_I64LE : H5T_IEEE_F64LE), "making a column's type", path));
}

Datatype memory_type(std::string_view type, const std::string& path) {
  if (type == "string") return string_type(kNameBytes, path);
  return Datatype(check_hdf5(H5Tcopy(type == "int64" ? native_int64() : native_double()), "making a column's type", path));
}

/// What stands where a reader comes between the file's growth and its data: NaN, or -1.
void set_fill(hid_t properties, std::string_view type, const std::string& path) {
  const double unknown = kUnknown;
  const std::int64_t none = -1;
  if (type == "float64") check_hdf5(H5Pset_fill_value(properties, native_double(), &unknown), "setting a fill value", path);
  if (type == "int64") check_hdf5(H5Pset_fill_value(properties, native_int64(), &none), "setting a fill value", path);
}

Dataset create(hid_t file, const Column& column, std::span<const hsize_t> shape, std::span<const hsize_t> most,
               std::span<const hsize_t> chunk, const std::string& path) {
  const std::string doing = fmt::format("creating {}", column.path);
  const int dimensions = static_cast<int>(shape.size());
  const Dataspace space(check_hdf5(H5Screate_simple(dimensions, shape.data(), most.data()), doing, path));
  const PropertyList properties(check_hdf5(H5Pcreate(H5P_DATASET_CREATE), doing, path));
  check_hdf5(H5Pset_chunk(properties.get(), dimensions, chunk.data()), doing, path);
  set_fill(properties.get(), column.type, path);
  Dataset dataset(check_hdf5(H5Dcreate2(file, std::string(column.path).c_str(), file_type(column.type, path).get(), space.get(),
                                        H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                             doing, path));
  describe(dataset.get(), column, path);
  return dataset;
}

}  // namespace

void describe(hid_t dataset, const Column& column, const std::string& path) {
  write_attribute(dataset, "unit", column.unit, path);
  write_attribute(dataset, "help", column.help, path);
}

GrowingColumn::GrowingColumn(hid_t file, const Column& column, std::int64_t width, const std::string& path)
    : column_(column), path_(path), type_(memory_type(column.type, path)), width_(width) {
  const auto columns = static_cast<hsize_t>(std::max<std::int64_t>(width, 1));
  const std::array<hsize_t, 2> shape{0, columns}, most{H5S_UNLIMITED, columns};
  const std::array<hsize_t, 2> chunk{width > 0 ? std::clamp<hsize_t>(kChunkValues / columns, 1, kChunkRows) : kChunkRows, columns};
  const std::size_t dimensions = width > 0 ? 2 : 1;
  dataset_ =
      create(file, column, std::span(shape).first(dimensions), std::span(most).first(dimensions), std::span(chunk).first(dimensions), path);
}

void GrowingColumn::add(const std::string& value) {
  const std::string_view cut = cut_utf8(value, kNameBytes);
  texts_.append(cut).append(kNameBytes - cut.size(), '\0');
}

const void* GrowingColumn::data() const {
  if (column_.type == "string") return texts_.data();
  return column_.type == "int64" ? static_cast<const void*>(ints_.data()) : doubles_.data();
}

std::size_t GrowingColumn::values() const {
  if (column_.type == "string") return texts_.size() / kNameBytes;
  return column_.type == "int64" ? ints_.size() : doubles_.size();
}

void GrowingColumn::write() {
  const std::size_t width = static_cast<std::size_t>(std::max<std::int64_t>(width_, 1));
  const std::size_t added = values() / width;
  if (added == 0) return;
  const std::string doing = fmt::format("adding to {}", column_.path);
  const int dimensions = width_ > 0 ? 2 : 1;
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(rows_), 0}, count{added, width}, size{start[0] + added, width};
  check_hdf5(H5Dset_extent(dataset_.get(), size.data()), doing, path_);
  const Dataspace in_file(check_hdf5(H5Dget_space(dataset_.get()), doing, path_));
  check_hdf5(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), doing, path_);
  const Dataspace in_memory(check_hdf5(H5Screate_simple(dimensions, count.data(), nullptr), doing, path_));
  check_hdf5(H5Dwrite(dataset_.get(), type_.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, data()), doing, path_);
  rows_ += static_cast<std::int64_t>(added);
  doubles_.clear();
  ints_.clear();
  texts_.clear();
}

void GrowingColumn::flush() {
  check_hdf5(H5Dflush(dataset_.get()), fmt::format("flushing {}", column_.path), path_);
}

Dataset create_fixed(hid_t file, const Column& column, std::span<const hsize_t> shape, const void* values, const std::string& path) {
  std::vector<hsize_t> chunk(shape.begin(), shape.end());
  for (hsize_t& extent : chunk) extent = std::max<hsize_t>(extent, 1);
  Dataset dataset = create(file, column, shape, shape, chunk, path);
  check_hdf5(H5Dwrite(dataset.get(), memory_type(column.type, path).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
             fmt::format("writing {}", column.path), path);
  return dataset;
}

}  // namespace twinax::record
