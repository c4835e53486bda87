#include "twinax/record/dump.hpp"

#include <array>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"

#include "record/hdf5.hpp"
#include "record/record_path.hpp"

namespace twinax::record {

class DumpFile::Content {
 public:
  Content(const std::string& path, std::int64_t heads) : path_(path), written_(aside(path)) {
    make_folder_of(path);
    ::unlink(written_.c_str());  // of an earlier process with the same number
    file_ = create_file(written_);
    write_attribute(file_.get(), "heads", heads, path_);
    for (const char* name : {"/parameters", "/gradients", "/batch"}) {
      const Group group(
          check_hdf5(H5Gcreate2(file_.get(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), fmt::format("creating {}", name), path_));
    }
  }
  ~Content() {
    if (!file_.is_open()) return;
    file_ = File();
    ::unlink(written_.c_str());
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  void add(const std::string& name, hid_t file_type, hid_t memory_type, const void* values, std::size_t count,
           std::span<const std::int64_t> shape) {
    const auto expected = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    if (!std::in_range<std::int64_t>(count) || static_cast<std::int64_t>(count) != expected) {
      throw InvalidArgument(fmt::format("{} values for {} of shape [{}]", count, name, fmt::join(shape, ", ")));
    }
    const std::string doing = fmt::format("writing {}", name);
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    const Dataspace space(shape.empty()
                              ? check_hdf5(H5Screate(H5S_SCALAR), doing, path_)
                              : check_hdf5(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), doing, path_));
    const Dataset dataset(
        check_hdf5(H5Dcreate2(file_.get(), name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), doing, path_));
    check_hdf5(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), doing, path_);
  }

  void finish() {
    check_hdf5(H5Fclose(file_.release()), "closing the dump", path_);
    publish(written_, path_);
  }

 private:
  std::string path_;
  std::string written_;
  File file_;
};

DumpFile::DumpFile(const std::string& path, std::int64_t heads) : content_(std::make_unique<Content>(path, heads)) {}

DumpFile::~DumpFile() = default;

void DumpFile::add_parameter(const std::string& name, std::span<const float> values, std::span<const std::int64_t> shape) {
  content_->add("/parameters/" + name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data(), values.size(), shape);
}

void DumpFile::add_gradient(const std::string& name, std::span<const float> values, std::span<const std::int64_t> shape) {
  content_->add("/gradients/" + name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data(), values.size(), shape);
}

void DumpFile::set_batch(std::span<const std::int64_t> tokens, std::int64_t length, std::int64_t targets) {
  const std::int64_t row = targets == 0 ? length + 1 : length + targets;
  const std::int64_t sequences = std::ssize(tokens) / row;
  if (std::ssize(tokens) != sequences * row) throw InvalidArgument(fmt::format("a batch of {} tokens in rows of {}", tokens.size(), row));
  const auto add = [&](const char* name, std::int64_t first, std::int64_t columns) {
    std::vector<std::int64_t> part;
    for (std::int64_t s = 0; s < sequences; ++s) {
      const auto begin = tokens.begin() + s * row + first;
      part.insert(part.end(), begin, begin + columns);
    }
    const std::array shape{sequences, columns};
    content_->add(name, H5T_STD_I64LE, H5T_NATIVE_INT64, part.data(), part.size(), shape);
  };
  if (targets == 0) return add("/batch/tokens", 0, row);
  add("/batch/inputs", 0, length);
  add("/batch/targets", length, targets);
}

void DumpFile::set_loss(double loss) {
  content_->add("/loss", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &loss, 1, {});
}

void DumpFile::finish() {
  content_->finish();
}

}  // namespace twinax::record
