#pragma once

#include <string>
#include <utility>

#include "twinax/nn/model.hpp"

namespace twinax::nn {

/// Appends parameters to a unit, one after another.
class UnitWriter {
 public:
  explicit UnitWriter(std::string name) { unit_.name = std::move(name); }
  /// A matrix or a table, normal at first.
  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns, double stddev, bool decays = true) {
    add({name, {rows, columns}, unit_.elements, stddev, 0, decays});
  }
  /// A vector of one value, without weight decay.
  void vector(const std::string& name, std::int64_t elements, double constant) {
    add({name, {elements}, unit_.elements, 0, constant, false});
  }
  /// All of it.
  [[nodiscard]] UnitSpec finish() { return std::move(unit_); }

 private:
  void add(ParameterSpec parameter) {
    unit_.elements += parameter.elements();
    unit_.parameters.push_back(std::move(parameter));
  }
  UnitSpec unit_;
};

/// Takes the first `elements` of `rest`, for views into a unit's flat run.
template <class T>
std::span<T> take(std::span<T>& rest, std::int64_t elements) {
  const std::span<T> piece = rest.first(static_cast<std::size_t>(elements));
  rest = rest.subspan(static_cast<std::size_t>(elements));
  return piece;
}

}  // namespace twinax::nn
