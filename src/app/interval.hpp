#pragma once

#include <span>

namespace twinax::app {

/// A median with the interval that holds it with 95% confidence or more.
struct Interval {
  double low = 0;
  double median = 0;
  double high = 0;
};

/// The interval between two order statistics of a sample; no distribution is assumed. Fewer than 6 values can't give 95%: the whole range
/// is returned.
///
/// Source: Hahn and Meeker, Statistical Intervals, 1991, section 5.2.
[[nodiscard]] Interval median_interval(std::span<const double> values);

}  // namespace twinax::app
