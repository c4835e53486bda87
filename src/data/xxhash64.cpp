#include "data/xxhash64.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace twinax::data {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

template <class Word>
std::uint64_t take(std::span<const std::byte>& bytes) {
  Word word;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes = bytes.subspan(sizeof word);
  return word;
}

constexpr std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

std::uint64_t xxhash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::uint64_t length = bytes.size();
  std::uint64_t hash = seed + kPrime5;
  if (bytes.size() >= 32) {
    std::array<std::uint64_t, 4> lanes{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    while (bytes.size() >= 32) {
      for (auto& lane : lanes) lane = round_of(lane, take<std::uint64_t>(bytes));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const auto lane : lanes) hash = (hash ^ round_of(0, lane)) * kPrime1 + kPrime4;
  }
  hash += length;
  while (bytes.size() >= 8) hash = std::rotl(hash ^ round_of(0, take<std::uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  if (bytes.size() >= 4) hash = std::rotl(hash ^ (take<std::uint32_t>(bytes) * kPrime1), 23) * kPrime2 + kPrime3;
  while (!bytes.empty()) hash = std::rotl(hash ^ (take<std::uint8_t>(bytes) * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace twinax::data
