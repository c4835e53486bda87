#include "tensor/gemm_backend.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/central_differences.hpp"

namespace twinax::tensor {
namespace {

/// c (+)= op(a) op(b), one element at a time, in double precision.
template <class Real>
std::vector<double> product_reference(const Product& p, const std::vector<Real>& a, const std::vector<Real>& b,
                                      const std::vector<Real>& c) {
  const bool transpose_a = p.form == Form::TN || p.form == Form::TT;
  const bool transpose_b = p.form == Form::NT || p.form == Form::TT;
  std::vector<double> out(c.begin(), c.end());
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double total = p.into == Into::Add ? static_cast<double>(c[static_cast<std::size_t>(i * p.stride_c + j)]) : 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const Real left = a[static_cast<std::size_t>(transpose_a ? k * p.stride_a + i : i * p.stride_a + k)];
        const Real right = b[static_cast<std::size_t>(transpose_b ? j * p.stride_b + k : k * p.stride_b + j)];
        total += static_cast<double>(left) * static_cast<double>(right);
      }
      out[static_cast<std::size_t>(i * p.stride_c + j)] = total;
    }
  }
  return out;
}

template <class Real>
void check_backend(GemmBackend<Real>& backend, std::string_view name, double tolerance) {
  constexpr auto kPrecision = sizeof(Real) == 4 ? Precision::Fp32 : Precision::Fp64;
  use_one_thread();
  struct Sizes {
    std::int64_t m, n, k, gap;
  };
  for (const Sizes s : {Sizes{1, 1, 1, 0}, {7, 5, 3, 0}, {33, 65, 17, 3}, {64, 48, 80, 0}, {2, 130, 9, 1}, {96, 1, 31, 5}}) {
    for (const Form form : {Form::NN, Form::NT, Form::TN, Form::TT}) {
      for (const Into into : {Into::Set, Into::Add}) {
        Product p = dense_product(kPrecision, form, into, s.m, s.n, s.k);
        p.stride_a += s.gap;
        p.stride_b += s.gap;
        p.stride_c += s.gap;
        const bool transpose_a = form == Form::TN || form == Form::TT;
        const bool transpose_b = form == Form::NT || form == Form::TT;
        const auto a = test::normal_numbers<Real>((transpose_a ? s.k : s.m) * p.stride_a, 1);
        const auto b = test::normal_numbers<Real>((transpose_b ? s.n : s.k) * p.stride_b, 2);
        auto c = test::normal_numbers<Real>(s.m * p.stride_c, 3);
        const auto wanted = product_reference(p, a, b, c);
        for (int repeat = 0; repeat < (into == Into::Set ? 2 : 1); ++repeat) backend.run(p, a.data(), b.data(), c.data());
        for (std::size_t i = 0; i < c.size(); ++i)
          ASSERT_NEAR(c[i], wanted[i], tolerance) << name << ", " << to_text(p) << ", element " << i;
      }
    }
  }
}

TEST(GemmBackend, EachMultipliesAsTheDefinitionDoesAndLeavesGapsAlone) {
  for (const auto& row : gemm_backends<float>()) check_backend(*row.make(), row.name, 1e-4);
  for (const auto& row : gemm_backends<double>()) check_backend(*row.make(), row.name, 1e-12);
  check_backend(*make_eigen<float>(), "eigen", 1e-4);
  check_backend(*make_eigen<double>(), "eigen", 1e-12);
}

TEST(GemmBackend, EachGivesTheSameBitsAgain) {
  const Product p = dense_product(Precision::Fp32, Form::TN, Into::Set, 96, 130, 257);
  const auto a = test::normal_numbers<float>(257 * 96, 1);
  const auto b = test::normal_numbers<float>(257 * 130, 2);
  for (const auto& row : gemm_backends<float>()) {
    std::vector<float> first(96 * 130), second(96 * 130);
    row.make()->run(p, a.data(), b.data(), first.data());
    row.make()->run(p, a.data(), b.data(), second.data());
    EXPECT_EQ(first, second) << row.name;
  }
}

}  // namespace
}  // namespace twinax::tensor
