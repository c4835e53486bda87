#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "twinax/collective/collectives.hpp"
#include "twinax/collective/wire.hpp"

namespace twinax::collective {

/// An all-reduce of any length, made of a reduce-scatter and an all-gather: values are padded with zeros to equal pieces. Keeps its
/// scratch, grown to the largest operation seen.
class PaddedAllReduce {
 public:
  /// Sums `values` over `members`, in place: reduce(whole, shard), then gather(shard, whole).
  template <class Reduce, class Gather>
  void run(int members, std::span<float> values, const Reduce& reduce, const Gather& gather) {
    const auto size = static_cast<std::size_t>(members);
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
    reduce(whole, sum);
    gather(sum, whole);
    if (whole.data() != values.data()) std::copy_n(whole.begin(), values.size(), values.begin());
  }

  /// The same by a group's own reduce-scatter and all-gather.
  void run(Collectives& collectives, std::span<float> values, Dtype wire, net::Purpose purpose) {
    run(
        collectives.group().size(), values,
        [&](std::span<float> whole, std::span<float> sum) { collectives.reduce_scatter(whole, sum, wire, purpose); },
        [&](std::span<const float> sum, std::span<float> whole) { collectives.all_gather(sum, whole, sum_wire(wire), purpose); });
  }

 private:
  std::vector<float> padded_, sum_;
};

}  // namespace twinax::collective
