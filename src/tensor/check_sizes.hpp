#pragma once

#include <cstdint>
#include <string_view>

namespace twinax::tensor {

/// Throws InvalidArgument if a kernel's operand has not the size that its shape asks for; the message names kernel, operand and both sizes.
void check_size(std::string_view kernel, std::string_view operand, std::size_t found, std::int64_t wanted);
/// The same for an operand that may be larger.
void check_size_at_least(std::string_view kernel, std::string_view operand, std::size_t found, std::int64_t wanted);

}  // namespace twinax::tensor
