#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "twinax/collective/collectives.hpp"

namespace twinax::collective {

/// An all-reduce of any length, made of a group's reduce-scatter and all-gather: values are padded with zeros to equal pieces. Keeps its
/// scratch, grown to the largest operation seen.
class PaddedAllReduce {
 public:
  /// Sums `values` over the ranks of `collectives`, in place.
  void run(Collectives& collectives, std::span<float> values, Dtype wire, net::Purpose purpose) {
    const auto size = static_cast<std::size_t>(collectives.group().size());
    const std::size_t n = (values.size() + size - 1) / size;
    std::span<float> whole = values;
    if (n * size != values.size()) {
      if (padded_.size() < n * size) padded_.resize(n * size);
      whole = std::span(padded_).first(n * size);
      std::ranges::fill(whole.subspan(values.size()), 0.0F);
      std::ranges::copy(values, whole.begin());
    }
    if (sum_.size() < n) sum_.resize(n);
    const std::span<float> sum = std::span(sum_).first(n);
    collectives.reduce_scatter(whole, sum, wire, purpose);
    collectives.all_gather(sum, whole, wire, purpose);
    if (whole.data() != values.data()) std::copy_n(whole.begin(), values.size(), values.begin());
  }

 private:
  std::vector<float> padded_, sum_;
};

}  // namespace twinax::collective
