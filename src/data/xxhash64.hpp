#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace twinax::data {

/// A 64-bit hash that finds damage, not forgery: XXH64.
///
/// Source: Collet, the specification of XXH64 (github.com/Cyan4973/xxHash).
[[nodiscard]] std::uint64_t xxhash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace twinax::data
