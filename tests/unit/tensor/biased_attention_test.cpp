#include "twinax/tensor/biased_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/central_differences.hpp"

namespace twinax::tensor {
namespace {

using test::dot;
using test::normal_numbers;
using Vector = std::vector<double>;

struct Case {
  AttentionShape shape;
  bool biased;
};

/// q apart, k and v side by side as a product for both leaves them.
template <class Real>
struct Tensors {
  std::vector<Real> q, kv, bias, out, log_sum, scratch;
  std::vector<Real> d_q, d_kv, d_bias;
  explicit Tensors(const Case& c) {
    const AttentionShape& s = c.shape;
    const std::int64_t width = s.heads * s.head_width;
    const auto drawn = [](std::int64_t count, std::uint32_t stream) {
      const Vector values = normal_numbers(count, stream, 0.7);
      return std::vector<Real>(values.begin(), values.end());
    };
    q = drawn(s.batch * s.queries * width, 1);
    kv = drawn(s.batch * s.keys * 2 * width, 2);
    bias = drawn(c.biased ? s.heads * s.distances() : 0, 3);
    out.resize(q.size());
    log_sum.resize(static_cast<std::size_t>(s.batch * s.heads * s.queries));
    scratch.resize(static_cast<std::size_t>(biased_attention_scratch(s)));
    d_q.assign(q.size(), Real(99));
    d_kv.assign(kv.size(), Real(99));
    d_bias.assign(bias.size(), Real(0.5));
  }
  template <class T>
  static AttentionOperands<T> operands(const AttentionShape& s, std::span<T> q, std::span<T> kv) {
    const std::int64_t width = s.heads * s.head_width;
    const std::int64_t rows = s.batch * s.keys;
    const auto part = [&](std::int64_t first) {
      const std::span<T> data = kv.empty() ? kv : kv.subspan(static_cast<std::size_t>(first));
      return Matrix<T>{data, rows, width, 2 * width};
    };
    return {as_matrix(q, s.batch * s.queries, width), part(0), part(width)};
  }
  void forward(const AttentionShape& s) { biased_attention_forward<Real>(s, operands<const Real>(s, q, kv), bias, out, log_sum, scratch); }
  void backward(const AttentionShape& s, std::span<const Real> d_out) {
    biased_attention_backward<Real>(s, d_out, operands<const Real>(s, q, kv), bias, out, log_sum, operands<Real>(s, d_q, d_kv), d_bias,
                                    scratch);
  }
};

/// softmax(q k^T + bias) v straight from the definition.
Vector reference(const Case& c, const Tensors<double>& t) {
  const AttentionShape& s = c.shape;
  const std::int64_t width = s.heads * s.head_width;
  Vector out(t.q.size());
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const auto q = [&](std::int64_t i, std::int64_t d) {
        return t.q[static_cast<std::size_t>((b * s.queries + i) * width + h * s.head_width + d)];
      };
      const auto kv = [&](std::int64_t part, std::int64_t j, std::int64_t d) {
        return t.kv[static_cast<std::size_t>(((b * s.keys + j) * 2 + part) * width + h * s.head_width + d)];
      };
      for (std::int64_t i = 0; i < s.queries; ++i) {
        Vector weights;
        double total = 0;
        for (std::int64_t j = 0; j < (s.causal ? i + 1 : s.keys); ++j) {
          double score = c.biased ? t.bias[static_cast<std::size_t>(h * s.distances() + i - j + s.keys - 1)] : 0;
          for (std::int64_t d = 0; d < s.head_width; ++d) score += q(i, d) * kv(0, j, d);
          weights.push_back(std::exp(score));
          total += weights.back();
        }
        for (std::int64_t d = 0; d < s.head_width; ++d) {
          double value = 0;
          for (std::size_t j = 0; j < weights.size(); ++j) value += weights[j] / total * kv(1, static_cast<std::int64_t>(j), d);
          out[static_cast<std::size_t>((b * s.queries + i) * width + h * s.head_width + d)] = value;
        }
      }
    }
  }
  return out;
}

class BiasedAttention : public testing::TestWithParam<Case> {};

TEST_P(BiasedAttention, ForwardIsTheDefinitions) {
  const Case c = GetParam();
  Tensors<double> exact(c);
  Tensors<float> single(c);
  exact.forward(c.shape);
  single.forward(c.shape);
  const Vector wanted = reference(c, exact);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(exact.out[i], wanted[i], 1e-12) << i;
    ASSERT_NEAR(single.out[i], wanted[i], 5e-6) << i;
  }
}

TEST_P(BiasedAttention, BackwardAgreesWithCentralDifferencesAndAddsToTheBias) {
  const Case c = GetParam();
  Tensors<double> exact(c);
  Tensors<float> single(c);
  const Vector d_out = normal_numbers(static_cast<std::int64_t>(exact.out.size()), 4);
  const std::vector<float> d_single(d_out.begin(), d_out.end());
  exact.forward(c.shape);
  exact.backward(c.shape, d_out);
  single.forward(c.shape);
  single.backward(c.shape, d_single);
  for (std::size_t i = 0; i < exact.d_q.size(); ++i) ASSERT_NEAR(single.d_q[i], exact.d_q[i], 5e-5) << i;
  for (std::size_t i = 0; i < exact.d_kv.size(); ++i) ASSERT_NEAR(single.d_kv[i], exact.d_kv[i], 5e-5) << i;
  for (std::size_t i = 0; i < exact.d_bias.size(); ++i) ASSERT_NEAR(single.d_bias[i], exact.d_bias[i], 2e-4) << i;

  if (exact.q.size() + exact.kv.size() > 1000) return;  // one forward a number: the small cases are enough
  const auto loss = [&] {
    exact.forward(c.shape);
    return dot(exact.out, d_out);
  };
  for (double& value : exact.d_bias) value -= 0.5;
  test::expect_gradient("q", exact.q, exact.d_q, loss);
  test::expect_gradient("k and v", exact.kv, exact.d_kv, loss);
  test::expect_gradient("bias", exact.bias, exact.d_bias, loss);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BiasedAttention,
                         testing::Values(Case{{1, 1, 1, 1, 1, false}, true}, Case{{2, 5, 5, 3, 2, false}, true},
                                         Case{{2, 5, 5, 2, 3, true}, true}, Case{{1, 33, 33, 1, 4, true}, true},
                                         Case{{1, 33, 33, 2, 4, false}, true}, Case{{2, 3, 35, 1, 4, false}, false},
                                         Case{{1, 40, 7, 2, 5, false}, false}, Case{{1, 9, 4, 1, 3, false}, true},
                                         Case{{1, 70, 100, 2, 64, false}, false}, Case{{2, 100, 100, 2, 40, true}, true},
                                         Case{{2, 96, 96, 3, 16, false}, true}));

TEST(BiasedAttentionArguments, RefuseSizesThatDisagree) {
  Tensors<double> t({{1, 4, 4, 1, 2, false}, true});
  AttentionShape shape{1, 4, 4, 1, 2, false};
  shape.keys = 3;
  EXPECT_THROW(t.forward(shape), InvalidArgument);
  shape = {1, 4, 4, 1, 2, true};
  shape.causal = true;
  t.bias.pop_back();
  EXPECT_THROW(t.forward(shape), InvalidArgument);
  const Tensors<double> wide({{1, 4, 6, 1, 2, false}, false});
  EXPECT_THROW(Tensors<double>({{1, 4, 6, 1, 2, true}, false}).forward({1, 4, 6, 1, 2, true}), InvalidArgument);
}

TEST(PositionBucket, HoldsOneDistanceEachThenPowersUpToTheLargest) {
  // 16 a direction, 8 of them exact: bucket 8 + j from 8 * 16^(j / 8) = 8 * 2^(j / 2) on, by whole numbers: distance^2 >= 64 * 2^j.
  const PositionBuckets both{.buckets = 32, .largest_distance = 128, .both_ways = true};
  // 32 in all, 16 exact: bucket 16 + j from 16 * 8^(j / 16) on: (distance / 16)^16 >= 8^j.
  const PositionBuckets past{.buckets = 32, .largest_distance = 128, .both_ways = false};
  for (std::int64_t distance = 0; distance < 300; ++distance) {
    std::int64_t wanted = std::min<std::int64_t>(distance, 7);
    for (std::int64_t j = 0; j < 8; ++j) wanted += distance * distance >= (std::int64_t{64} << j) ? 1 : 0;
    EXPECT_EQ(position_bucket(both, -distance), wanted) << distance;
    EXPECT_EQ(position_bucket(both, distance), distance == 0 ? 0 : wanted + 16) << distance;
    std::int64_t causal = std::min<std::int64_t>(distance, 15);
    const long double sixteenths = std::pow(static_cast<long double>(distance) / 16, 16.0L);
    for (int j = 0; j < 16; ++j) causal += sixteenths >= std::pow(8.0L, j) * (1 - 1e-15L) ? 1 : 0;
    EXPECT_EQ(position_bucket(past, -distance), causal) << distance;
    EXPECT_EQ(position_bucket(past, distance), 0) << "the future is at distance 0";
  }
}

TEST(PositionBucket, PutsExactPowersIntoTheUpperBucket) {
  const PositionBuckets both{.buckets = 32, .largest_distance = 128, .both_ways = true};
  for (const auto& [distance, bucket] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {7, 7}, {8, 8}, {11, 8}, {12, 9}, {15, 9}, {16, 10}, {31, 11}, {32, 12}, {63, 13}, {64, 14}, {90, 14}, {91, 15}, {128, 15}}) {
    EXPECT_EQ(position_bucket(both, -distance), bucket) << distance;
  }
  const PositionBuckets past{.buckets = 32, .largest_distance = 128, .both_ways = false};
  for (const auto& [distance, bucket] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {15, 15}, {16, 16}, {18, 16}, {19, 17}, {31, 21}, {32, 21}, {63, 26}, {64, 26}, {128, 31}, {1000, 31}}) {
    EXPECT_EQ(position_bucket(past, -distance), bucket) << distance;
  }
}

TEST(PositionBias, GivesEveryDistanceItsBucketsValueAndAddsItsGradientBack) {
  const AttentionShape shape{.batch = 1, .queries = 3, .keys = 3, .heads = 2, .head_width = 1, .causal = false};
  const PositionBuckets buckets{.buckets = 32, .largest_distance = 128, .both_ways = true};
  const Vector table = normal_numbers(32 * 2, 1);
  Vector bias(2 * 5);
  position_bias_forward<double>(buckets, shape, table, bias);
  // Index query - key + 2: the key is 2 and 1 after the query, at it, 1 and 2 before.
  const std::vector<std::size_t> bucket_of{18, 17, 0, 1, 2};
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(bias[h * 5 + i], table[bucket_of[i] * 2 + h]);
  }
  Vector d_table(64, 0.0);
  position_bias_backward<double>(buckets, shape, Vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, d_table);
  position_bias_backward<double>(buckets, shape, Vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, d_table);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(d_table[bucket_of[i] * 2], 2 * static_cast<double>(i + 1));
    EXPECT_EQ(d_table[bucket_of[i] * 2 + 1], 2 * static_cast<double>(i + 6));
  }
}

}  // namespace
}  // namespace twinax::tensor
