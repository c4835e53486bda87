#pragma once

#include <cstdint>

#include "twinax/base/philox.hpp"

namespace twinax::data {

/// A pseudo-random order of [0, size) that takes no memory: a pure function of (size, seed, epoch).
///
/// Source: Black, Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002 (a Feistel network on the next power of four, walked along
///         its cycles until it falls into the range).
/// Cost:   O(1): six Philox words a walk, fewer than four walks on average (256 / size for sizes below 64).
class Permutation {
 public:
  /// Throws InvalidArgument unless 1 <= size <= 2^62 and 0 <= epoch < 2^32.
  Permutation(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

  /// How many numbers are put in order.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The number at a position. Throws InvalidArgument unless 0 <= position < size().
  [[nodiscard]] std::int64_t at(std::int64_t position) const;

 private:
  [[nodiscard]] std::uint64_t mix(std::uint64_t value) const;
  std::int64_t size_;
  unsigned half_bits_;
  Philox random_;
};

}  // namespace twinax::data
