#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/record/read_record.hpp"

#include "record/hdf5.hpp"

namespace twinax::record {
namespace {

bool opens_plainly(const std::string& path) {
  try {
    const File file = open_file(path, H5F_ACC_RDONLY);
    return true;
  } catch (const Hdf5Error&) {
    return false;
  }
}

}  // namespace

bool repair_record(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw FileError(fmt::format("{}: there is no such file", path));
  silence_hdf5();
  if (H5Fis_hdf5(path.c_str()) <= 0) throw FileError(fmt::format("{}: is no HDF5 file", path));
  if (opens_plainly(path)) return false;
  try {
    const PropertyList access(check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "making file access properties", path));
    check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "choosing the file format", path);
    check_hdf5(H5Pset_file_locking(access.get(), 0, 1), "turning file locks off", path);
    // The property that h5clear uses: opening for writing then clears the mark.
    const hbool_t clear = true;
    check_hdf5(H5Pset(access.get(), "clear_status_flags", &clear), "asking to clear the mark", path);
    const File file(check_hdf5(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), "clearing the mark of a killed writer", path));
  } catch (const Hdf5Error& error) {
    throw FileError(fmt::format("can't repair: {}", error.what()));
  }
  if (!opens_plainly(path)) throw FileError(fmt::format("{}: still can't be opened after clearing the mark; it is damaged", path));
  return true;
}

}  // namespace twinax::record
