#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <hdf5.h>

#include "record/hdf5.hpp"

namespace twinax::test {

/// An HDF5 file as another program would open it, and its datasets.
class Stored {
 public:
  explicit Stored(const std::string& path, unsigned flags = H5F_ACC_RDONLY) : path_(path), file_(record::open_file(path, flags)) {}
  [[nodiscard]] hid_t file() const { return file_.get(); }

  /// A dataset's extents; none for one value.
  [[nodiscard]] std::vector<std::int64_t> shape(const std::string& name) const {
    const record::Dataspace space(record::check_hdf5(H5Dget_space(open(name).get()), "reading a shape", path_));
    std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    return {extents.begin(), extents.end()};
  }

  /// A dataset's numbers, row-major.
  template <class Value>
  [[nodiscard]] std::vector<Value> values(const std::string& name) const {
    const record::Dataset dataset = open(name);
    std::vector<Value> values(count(name));
    const hid_t type = std::is_same_v<Value, double>  ? H5T_NATIVE_DOUBLE
                       : std::is_same_v<Value, float> ? H5T_NATIVE_FLOAT
                                                      : H5T_NATIVE_INT64;
    record::check_hdf5(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "reading " + name, path_);
    return values;
  }

  /// A dataset's fixed-length texts, without their padding.
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
    const record::Dataset dataset = open(name);
    const record::Datatype type(record::check_hdf5(H5Dget_type(dataset.get()), "reading a type", path_));
    const std::size_t bytes = H5Tget_size(type.get());
    std::string padded(bytes * count(name), '\0');
    record::check_hdf5(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "reading " + name, path_);
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < padded.size(); at += bytes) texts.emplace_back(padded.substr(at, bytes).c_str());
    return texts;
  }

  /// A text attribute of a dataset or group.
  [[nodiscard]] std::string attribute(const std::string& object, const char* name) const {
    const Handle<record::Hdf5Traits<&H5Oclose>> opened(
        record::check_hdf5(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT), "opening " + object, path_));
    return record::read_text_attribute(opened.get(), name, path_);
  }

  /// The names in a group, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& group) const {
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
      static_cast<std::vector<std::string>*>(into)->emplace_back(name);
      return 0;
    };
    const record::Group opened(record::check_hdf5(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), "opening " + group, path_));
    record::check_hdf5(H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), "listing " + group, path_);
    return names;
  }

 private:
  [[nodiscard]] record::Dataset open(const std::string& name) const {
    return record::Dataset(record::check_hdf5(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), "opening " + name, path_));
  }
  [[nodiscard]] std::size_t count(const std::string& name) const {
    std::size_t product = 1;
    for (const std::int64_t extent : shape(name)) product *= static_cast<std::size_t>(extent);
    return product;
  }

  std::string path_;
  record::File file_;
};

}  // namespace twinax::test
