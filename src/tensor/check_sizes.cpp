#include "tensor/check_sizes.hpp"

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::tensor {

void check_size(std::string_view kernel, std::string_view operand, std::size_t found, std::int64_t wanted) {
  if (wanted < 0 || found != static_cast<std::size_t>(wanted)) {
    throw InvalidArgument(fmt::format("{}: {} has {} elements, the shapes ask for {}", kernel, operand, found, wanted));
  }
}

void check_size_at_least(std::string_view kernel, std::string_view operand, std::size_t found, std::int64_t wanted) {
  if (wanted < 0 || found < static_cast<std::size_t>(wanted)) {
    throw InvalidArgument(fmt::format("{}: {} has {} elements, the shapes ask for {} or more", kernel, operand, found, wanted));
  }
}

}  // namespace twinax::tensor
