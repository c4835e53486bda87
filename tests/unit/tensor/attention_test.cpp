#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "support/central_differences.hpp"

namespace twinax::tensor {
namespace {

using test::dot;
using test::normal_numbers;
using Vector = std::vector<double>;

struct Case {
  BatchShape shape;
  std::int64_t heads;
};

/// softmax(q k^T / sqrt(D)) v over positions up to the query's own, straight from the definition.
Vector attention_reference(const Case& c, const Vector& qkv) {
  const std::int64_t d = c.shape.width / c.heads;
  Vector out(static_cast<std::size_t>(c.shape.batch * c.shape.length * c.shape.width));
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t part, std::int64_t h, std::int64_t i) {
    return qkv[static_cast<std::size_t>(((b * c.shape.length + t) * 3 + part) * c.shape.width + h * d + i)];
  };
  for (std::int64_t b = 0; b < c.shape.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t t = 0; t < c.shape.length; ++t) {
        Vector weights;
        double total = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          double score = 0;
          for (std::int64_t i = 0; i < d; ++i) score += at(b, t, 0, h, i) * at(b, s, 1, h, i);
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
          total += weights.back();
        }
        for (std::int64_t i = 0; i < d; ++i) {
          double value = 0;
          for (std::int64_t s = 0; s <= t; ++s) value += weights[static_cast<std::size_t>(s)] / total * at(b, s, 2, h, i);
          out[static_cast<std::size_t>((b * c.shape.length + t) * c.shape.width + h * d + i)] = value;
        }
      }
    }
  }
  return out;
}

class Attention : public testing::TestWithParam<Case> {};

TEST_P(Attention, ForwardIsTheDefinitions) {
  const Case c = GetParam();
  const std::int64_t rows = c.shape.batch * c.shape.length;
  const Vector qkv = normal_numbers(rows * 3 * c.shape.width, 1);
  Vector out(static_cast<std::size_t>(rows * c.shape.width)), log_sum(static_cast<std::size_t>(rows * c.heads));
  Vector scratch(static_cast<std::size_t>(attention_scratch(c.shape.length, c.shape.width / c.heads)));
  attention_forward<double>(c.shape, c.heads, qkv, out, log_sum, scratch);
  const Vector wanted = attention_reference(c, qkv);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], wanted[i], 1e-12) << i;

  const std::vector<float> qkv_single(qkv.begin(), qkv.end());
  std::vector<float> out_single(out.size()), log_sum_single(log_sum.size()), scratch_single(scratch.size());
  attention_forward<float>(c.shape, c.heads, qkv_single, out_single, log_sum_single, scratch_single);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out_single[i], wanted[i], 3e-6) << i;
}

TEST_P(Attention, BackwardAgreesWithCentralDifferences) {
  const Case c = GetParam();
  const std::int64_t rows = c.shape.batch * c.shape.length;
  Vector qkv = normal_numbers(rows * 3 * c.shape.width, 1);
  const Vector d_out = normal_numbers(rows * c.shape.width, 2);
  Vector out(d_out.size()), log_sum(static_cast<std::size_t>(rows * c.heads)), d_qkv(qkv.size(), 99.0);
  Vector scratch(static_cast<std::size_t>(attention_scratch(c.shape.length, c.shape.width / c.heads)));
  attention_forward<double>(c.shape, c.heads, qkv, out, log_sum, scratch);
  attention_backward<double>(c.shape, c.heads, d_out, qkv, out, log_sum, d_qkv, scratch);

  const std::vector<float> qkv_single(qkv.begin(), qkv.end()), d_single(d_out.begin(), d_out.end());
  std::vector<float> out_single(out.size()), log_sum_single(log_sum.size()), scratch_single(scratch.size()), d_qkv_single(qkv.size());
  attention_forward<float>(c.shape, c.heads, qkv_single, out_single, log_sum_single, scratch_single);
  attention_backward<float>(c.shape, c.heads, d_single, qkv_single, out_single, log_sum_single, d_qkv_single, scratch_single);
  for (std::size_t i = 0; i < qkv.size(); ++i) ASSERT_NEAR(d_qkv_single[i], d_qkv[i], 2e-5) << i;

  if (rows > 40) return;  // one forward a number: the small cases are enough
  test::expect_gradient("qkv", qkv, d_qkv, [&] {
    attention_forward<double>(c.shape, c.heads, qkv, out, log_sum, scratch);
    return dot(out, d_out);
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         testing::Values(Case{{1, 1, 1}, 1}, Case{{2, 5, 6}, 3}, Case{{1, 33, 4}, 2}, Case{{1, 40, 8}, 1},
                                         Case{{2, 32, 16}, 1}, Case{{1, 100, 64}, 2}, Case{{1, 70, 40}, 1}, Case{{2, 64, 34}, 2}));

TEST(AttentionArguments, RefuseHeadsThatDoNotDivideTheWidthAndScratchThatIsShort) {
  std::vector<float> qkv(3 * 6 * 4), out(6 * 4), log_sum(6 * 2), scratch(8);
  EXPECT_THROW(attention_forward<float>({1, 6, 4}, 3, qkv, out, log_sum, scratch), InvalidArgument);
  EXPECT_THROW(attention_forward<float>({1, 6, 4}, 2, qkv, out, log_sum, scratch), InvalidArgument);
}

}  // namespace
}  // namespace twinax::tensor
