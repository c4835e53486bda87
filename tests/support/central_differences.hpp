#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/philox.hpp"

namespace twinax::test {

/// `count` standard normal numbers times `factor`; another `stream` gives others.
template <class Real = double>
std::vector<Real> normal_numbers(std::int64_t count, std::uint32_t stream, double factor = 1) {
  const Philox random(7, Draw::Test, stream);
  std::vector<Real> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Real>(factor * random.normal(i));
  return values;
}

/// The sum of a[i] * b[i].
inline double dot(std::span<const double> a, std::span<const double> b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

/// Expects `analytic` to be the derivative of loss() by each element of `x`, which loss reads.
inline void expect_gradient(const char* what, std::span<double> x, std::span<const double> analytic, const std::function<double()>& loss) {
  ASSERT_EQ(x.size(), analytic.size()) << what;
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = x[i];
    x[i] = before + kStep;
    const double above = loss();
    x[i] = before - kStep;
    const double below = loss();
    x[i] = before;
    const double numeric = (above - below) / (2 * kStep);
    EXPECT_NEAR(analytic[i], numeric, 1e-7 * (1 + std::abs(numeric))) << what << "[" << i << "]";
  }
}

}  // namespace twinax::test
