#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace twinax {

/// What random numbers are for; a part of the key, so that no two uses share numbers. Values are part of the record: append only.
enum class Draw : std::uint32_t { InitialWeight = 1, DataOrder = 2, Jitter = 3, Dropout = 4, Test = 5, SpanCorruption = 6 };

/// Philox4x32-10: four 32-bit words, a pure function of key and counter.
///
/// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC11.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ULL * counter[0];
    const std::uint64_t b = 0xCD9E8D57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// Random numbers keyed by (seed, purpose, stream, index), never by rank: the same for every number of ranks.
class Philox {
 public:
  Philox(std::uint64_t seed, Draw purpose, std::uint32_t stream = 0)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        purpose_(static_cast<std::uint32_t>(purpose)),
        stream_(stream) {}

  /// Four words of the given index.
  [[nodiscard]] std::array<std::uint32_t, 4> words(std::uint64_t index) const {
    return philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), purpose_, stream_}, key_);
  }
  /// 64 random bits of the given index.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const {
    const auto w = words(index);
    return (static_cast<std::uint64_t>(w[1]) << 32) | w[0];
  }
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1.0p-53; }
  /// Standard normal, by Box-Muller.
  [[nodiscard]] double normal(std::uint64_t index) const {
    const auto w = words(index);
    const double u = (static_cast<double>(w[0]) + 0.5) * 0x1.0p-32;
    const double v = (static_cast<double>(w[1]) + 0.5) * 0x1.0p-32;
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t purpose_;
  std::uint32_t stream_;
};

}  // namespace twinax
