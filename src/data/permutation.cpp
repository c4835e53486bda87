#include "twinax/data/permutation.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"

namespace twinax::data {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 62;
constexpr std::uint64_t kRounds = 6;
constexpr unsigned kLeastHalfBits = 4;  // on fewer a network's orders are visibly not equally frequent

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t seed, std::int64_t epoch)
    : size_(size), half_bits_(kLeastHalfBits), random_(seed, Draw::DataOrder, narrow<std::uint32_t>(epoch)) {
  if (size < 1 || size > kLargest) throw InvalidArgument("an order of " + std::to_string(size) + " numbers: 1 to 2^62 are possible");
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(size - 1)));
  half_bits_ = std::max(kLeastHalfBits, (bits + 1) / 2);
}

std::uint64_t Permutation::mix(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = left ^ (random_.bits((round << 32) | right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::int64_t Permutation::at(std::int64_t position) const {
  if (position < 0 || position >= size_) {
    throw InvalidArgument("position " + std::to_string(position) + " of an order of " + std::to_string(size_) + " numbers");
  }
  auto value = static_cast<std::uint64_t>(position);
  do {
    value = mix(value);
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

}  // namespace twinax::data
