#include "app/interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "twinax/base/error.hpp"

namespace twinax::app {

Interval median_interval(std::span<const double> values) {
  if (values.empty()) throw InvalidArgument("the median of no values");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  // The k-th smallest and k-th largest enclose the median unless fewer than k values fall on one side: 1 - 2 P(B(n, 1/2) < k).
  std::size_t k = 1;
  double below = std::pow(0.5, static_cast<double>(n));  // P(B < 1)
  double term = below;
  constexpr double kOneSide = 0.025;
  while (k < n / 2) {
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    if (below + term > kOneSide) break;
    below += term;
    ++k;
  }
  const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  return {.low = sorted[k - 1], .median = median, .high = sorted[n - k]};
}

}  // namespace twinax::app
