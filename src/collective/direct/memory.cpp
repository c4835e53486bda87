#include "collective/direct/memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace twinax::collective::direct {
namespace {

constexpr std::size_t kBlock = 2048;  // floats: a partial sum stays in the first cache
/// Below, what is copied is still in a cache when it is used: streaming 2 MiB took 2.8 times the time of memcpy, streaming 32 MiB 0.7.
constexpr std::size_t kStreamedBytes = std::size_t{4} << 20;

float through(float value, Dtype wire) {
  return wire == Dtype::Bf16 ? from_bf16(to_bf16(value)) : value;
}

template <Dtype wire>
void sum_blocks(std::span<const float* const> sources, std::span<float> into, bool rounds_sum) {
  std::array<float, kBlock> partial;
  for (std::size_t begin = 0; begin < into.size(); begin += kBlock) {
    const std::size_t n = std::min(kBlock, into.size() - begin);
    const float* const first = sources[0] + begin;
    for (std::size_t i = 0; i < n; ++i) partial[i] = 0.0F + through(first[i], wire);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      const float* const next = sources[s] + begin;
      for (std::size_t i = 0; i < n; ++i) partial[i] += through(next[i], wire);
    }
    float* const out = into.data() + begin;
    if (rounds_sum) {
      for (std::size_t i = 0; i < n; ++i) out[i] = through(partial[i], wire);
    } else {
      std::copy_n(partial.begin(), n, out);
    }
  }
}

}  // namespace

void copy(std::span<const std::byte> from, std::byte* into) {
  std::size_t at = 0;
  const std::size_t bytes = from.size();
#if defined(__AVX__)
  constexpr std::size_t kVector = sizeof(__m256i);
  if (bytes >= kStreamedBytes) {
    const std::size_t head = (kVector - reinterpret_cast<std::uintptr_t>(into) % kVector) % kVector;
    std::memcpy(into, from.data(), head);
    for (at = head; at + 4 * kVector <= bytes; at += 4 * kVector) {
      const auto* const in = reinterpret_cast<const __m256i*>(from.data() + at);
      auto* const out = reinterpret_cast<__m256i*>(into + at);
      const __m256i a = _mm256_loadu_si256(in);
      const __m256i b = _mm256_loadu_si256(in + 1);
      const __m256i c = _mm256_loadu_si256(in + 2);
      const __m256i d = _mm256_loadu_si256(in + 3);
      _mm256_stream_si256(out, a);
      _mm256_stream_si256(out + 1, b);
      _mm256_stream_si256(out + 2, c);
      _mm256_stream_si256(out + 3, d);
    }
    _mm_sfence();  // before anyone is told that the copy is there
  }
#endif
  if (at < bytes) std::memcpy(into + at, from.data() + at, bytes - at);
}

void sum(std::span<const float* const> sources, std::span<float> into, Dtype wire, bool rounds_sum) {
  if (wire == Dtype::Bf16) {
    sum_blocks<Dtype::Bf16>(sources, into, rounds_sum);
  } else {
    sum_blocks<Dtype::Fp32>(sources, into, false);
  }
}

}  // namespace twinax::collective::direct
