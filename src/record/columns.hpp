#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "twinax/record/schema.hpp"

#include "record/hdf5.hpp"

namespace twinax::record {

/// One growing dataset: rows are kept until write(), which extends the dataset by them.
class GrowingColumn {
 public:
  /// Creates the dataset: unlimited in its first dimension, `width` wide in the second (0 = there is none).
  GrowingColumn(hid_t file, const Column& column, std::int64_t width, const std::string& path);
  void add(double value) { doubles_.push_back(value); }
  void add(std::int64_t value) { ints_.push_back(value); }
  void add(const std::string& value);
  /// Writes what was added since the last time.
  void write();
  /// Makes it visible to readers.
  void flush();

 private:
  [[nodiscard]] const void* data() const;
  [[nodiscard]] std::size_t values() const;

  Column column_;
  std::string path_;
  Datatype type_;
  Dataset dataset_;
  std::int64_t width_ = 0;
  std::int64_t rows_ = 0;  // in the file
  std::vector<double> doubles_;
  std::vector<std::int64_t> ints_;
  std::string texts_;  // kNameBytes each
};

/// All columns of a group, filled from rows of a struct.
template <class Row>
class Table {
 public:
  Table(hid_t file, std::span<const Field<Row>> fields, std::int64_t width, const std::string& path) : fields_(fields) {
    for (const Field<Row>& field : fields_) columns_.emplace_back(file, field.column, width, path);
  }
  void append(const Row& row) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      std::visit([&](auto member) { columns_[i].add(row.*member); }, fields_[i].member);
    }
  }
  /// Writes the rows of all columns, then makes them visible, the first column (by which rows are counted) last.
  void flush() {
    for (GrowingColumn& column : columns_) column.write();
    for (std::size_t i = columns_.size(); i > 0; --i) columns_[i - 1].flush();
  }

 private:
  std::span<const Field<Row>> fields_;
  std::vector<GrowingColumn> columns_;
};

/// Creates a dataset of fixed size, filled with `values`, chunked as one piece, with the column's attributes. Values are int64, double or
/// strings of kNameBytes, by the column's type.
Dataset create_fixed(hid_t file, const Column& column, std::span<const hsize_t> shape, const void* values, const std::string& path);

/// Adds `unit` and `help`.
void describe(hid_t dataset, const Column& column, const std::string& path);

}  // namespace twinax::record
