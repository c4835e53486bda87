#pragma once

#include <cstddef>
#include <span>

#include "twinax/base/dtype.hpp"

namespace twinax::collective {

/// Writes a piece of fp32 values in the wire's type. bytes [wire_size(values.size(), wire)].
void encode(std::span<const float> values, std::span<std::byte> bytes, Dtype wire);
/// Reads them back.
void decode(std::span<const std::byte> bytes, std::span<float> values, Dtype wire);
/// Adds them to values.
void add_decoded(std::span<const std::byte> bytes, std::span<float> values, Dtype wire);

}  // namespace twinax::collective
