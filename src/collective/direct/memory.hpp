#pragma once

#include <cstddef>
#include <span>

#include "twinax/base/dtype.hpp"

namespace twinax::collective::direct {

/// Copies like memcpy; large copies by streaming stores, which neither read what they overwrite nor push other data out of the caches.
void copy(std::span<const std::byte> from, std::byte* into);

/// into[i] = 0 + sources[0][i] + sources[1][i] + ..., each rounded to the wire's type first: the order and the bits of the pairwise
/// reduce-scatter. `into` may be one of the sources, and is rounded to the wire's type as well if `rounds_sum`.
void sum(std::span<const float* const> sources, std::span<float> into, Dtype wire, bool rounds_sum);

}  // namespace twinax::collective::direct
