#pragma once

#include <string>
#include <utility>

#include "twinax/base/error.hpp"

namespace twinax {

/// Converts between integer types, and throws InvalidArgument instead of changing the value.
template <class To, class From>
constexpr To narrow(From value) {
  if (!std::in_range<To>(value)) {
    throw InvalidArgument("the number " + std::to_string(value) + " does not fit the " + std::to_string(sizeof(To) * 8) +
                          "-bit type it is needed in");
  }
  return static_cast<To>(value);
}

}  // namespace twinax
