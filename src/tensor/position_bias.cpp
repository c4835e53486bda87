#include <algorithm>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/tensor/biased_attention.hpp"

#include "tensor/check_sizes.hpp"

namespace twinax::tensor {
namespace {

double power(double base, std::int64_t exponent) {
  double product = 1;
  for (std::int64_t i = 0; i < exponent; ++i) product *= base;
  return product;
}

/// Calls f(index of the distance, its bucket) for every distance of the shape.
template <class F>
void each_distance(const PositionBuckets& buckets, const AttentionShape& shape, F f) {
  for (std::int64_t index = 0; index < shape.distances(); ++index) f(index, position_bucket(buckets, shape.keys - 1 - index));
}

}  // namespace

std::int64_t position_bucket(const PositionBuckets& buckets, std::int64_t key_minus_query) {
  const std::int64_t count = buckets.both_ways ? buckets.buckets / 2 : buckets.buckets;
  const std::int64_t exact = count / 2;
  if (exact < 1 || buckets.largest_distance <= exact) {
    throw InvalidArgument("position buckets: " + std::to_string(buckets.buckets) + " up to a distance of " +
                          std::to_string(buckets.largest_distance));
  }
  const std::int64_t first = buckets.both_ways && key_minus_query > 0 ? count : 0;
  const std::int64_t distance = buckets.both_ways ? std::abs(key_minus_query) : std::max<std::int64_t>(-key_minus_query, 0);
  if (distance < exact) return first + distance;
  if (distance >= buckets.largest_distance) return first + count - 1;
  // Bucket exact + j begins where (distance / exact)^(count - exact) >= (largest / exact)^j. Powers, not logarithms: products of powers of
  // two are exact.
  const std::int64_t logarithmic = count - exact;
  const double reached = power(static_cast<double>(distance) / static_cast<double>(exact), logarithmic);
  const double ratio = static_cast<double>(buckets.largest_distance) / static_cast<double>(exact);
  std::int64_t j = 0;
  for (double bound = ratio; j + 1 < logarithmic && reached >= bound; bound *= ratio) ++j;
  return first + exact + j;
}

template <class Real>
void position_bias_forward(const PositionBuckets& buckets, const AttentionShape& shape, std::span<const Real> table, std::span<Real> bias) {
  check_size("position_bias_forward", "table", table.size(), buckets.buckets * shape.heads);
  check_size("position_bias_forward", "bias", bias.size(), shape.heads * shape.distances());
  each_distance(buckets, shape, [&](std::int64_t index, std::int64_t bucket) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      bias[static_cast<std::size_t>(h * shape.distances() + index)] = table[static_cast<std::size_t>(bucket * shape.heads + h)];
    }
  });
}

template <class Real>
void position_bias_backward(const PositionBuckets& buckets, const AttentionShape& shape, std::span<const Real> d_bias,
                            std::span<Real> d_table) {
  check_size("position_bias_backward", "d_table", d_table.size(), buckets.buckets * shape.heads);
  check_size("position_bias_backward", "d_bias", d_bias.size(), shape.heads * shape.distances());
  each_distance(buckets, shape, [&](std::int64_t index, std::int64_t bucket) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      d_table[static_cast<std::size_t>(bucket * shape.heads + h)] += d_bias[static_cast<std::size_t>(h * shape.distances() + index)];
    }
  });
}

#define TWINAX_INSTANTIATE(Real)                                                                                                    \
  template void position_bias_forward<Real>(const PositionBuckets&, const AttentionShape&, std::span<const Real>, std::span<Real>); \
  template void position_bias_backward<Real>(const PositionBuckets&, const AttentionShape&, std::span<const Real>, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
