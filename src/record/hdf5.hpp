#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <hdf5.h>

#include "twinax/base/error.hpp"
#include "twinax/base/handle.hpp"

// Owners of HDF5's identifiers, and the few calls that the records are made of. The library is not thread-safe: all calls of a process are
// made on one thread.
namespace twinax::record {

/// Throws Hdf5Error if an HDF5 call failed (it returned less than 0), with what was being done to which file, and HDF5's own words.
/// Returns the value.
hid_t check_hdf5(hid_t returned, std::string_view doing, const std::string& file, Where where = {__builtin_FILE(), __builtin_LINE()});

/// Keeps HDF5 from printing its errors by itself: check_hdf5 reports them. Does so once a process.
void silence_hdf5();

template <herr_t (*Close)(hid_t)>
struct Hdf5Traits {
  using Native = hid_t;
  static Native null() { return H5I_INVALID_HID; }
  static void close(Native native) noexcept { Close(native); }
};

using File = Handle<Hdf5Traits<&H5Fclose>>;
using Group = Handle<Hdf5Traits<&H5Gclose>>;
using Dataset = Handle<Hdf5Traits<&H5Dclose>>;
using Attribute = Handle<Hdf5Traits<&H5Aclose>>;
using Datatype = Handle<Hdf5Traits<&H5Tclose>>;
using Dataspace = Handle<Hdf5Traits<&H5Sclose>>;
using PropertyList = Handle<Hdf5Traits<&H5Pclose>>;

/// A new file in the latest format, without file locks (SWMR readers come and go); fails if it exists.
[[nodiscard]] File create_file(const std::string& path);
/// An existing file. `flags` is H5F_ACC_RDONLY, H5F_ACC_RDWR, or either with SWMR.
[[nodiscard]] File open_file(const std::string& path, unsigned flags);
/// A fixed-length UTF-8 string type, padded with zeros; at least 1 byte long.
[[nodiscard]] Datatype string_type(std::size_t bytes, const std::string& file);
/// The native memory types of the schema's columns.
[[nodiscard]] hid_t native_double();
[[nodiscard]] hid_t native_int64();

/// Adds an attribute that holds a text (of `capacity` bytes if that is more), an integer or a number.
void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& file, std::size_t capacity = 0);
void write_attribute(hid_t object, const char* name, std::int64_t value, const std::string& file);
void write_attribute(hid_t object, const char* name, double value, const std::string& file);
/// Changes an attribute that exists. A text is cut at its capacity.
void change_attribute(hid_t object, const char* name, std::string_view text, const std::string& file);
void change_attribute(hid_t object, const char* name, std::int64_t value, const std::string& file);
void change_attribute(hid_t object, const char* name, double value, const std::string& file);
/// Whether an attribute exists.
[[nodiscard]] bool has_attribute(hid_t object, const char* name);
/// Reads an attribute; throws Hdf5Error if there is none or it is of another type.
[[nodiscard]] std::string read_text_attribute(hid_t object, const char* name, const std::string& file);
[[nodiscard]] std::int64_t read_int_attribute(hid_t object, const char* name, const std::string& file);
[[nodiscard]] double read_double_attribute(hid_t object, const char* name, const std::string& file);

/// A dataset of one fixed-length string.
void write_text_dataset(hid_t parent, const char* path, std::string_view text, const std::string& file);
[[nodiscard]] std::string read_text_dataset(hid_t parent, const char* path, const std::string& file);

/// `text` cut to at most `bytes` bytes, never within a UTF-8 character.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t bytes);

}  // namespace twinax::record
