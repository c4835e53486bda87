#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/functors/exponential.hpp"

namespace twinax::tensor {

/// Row functor of softmax_cross_entropy: logits [N, V], targets, losses, normalizers [N].
template <class Real>
struct SoftmaxCrossEntropy {
  Real* logits;
  const std::int32_t* targets;
  Real* losses;
  Real* normalizers;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    Real* const l = logits + row * columns;
    const std::int32_t target = targets[row];
    const Real largest = lanes.template max<Real>(columns, l[0], [=](std::int64_t column) { return l[column]; });
    const Real above = l[target] - largest;
    const Real total = lanes.template sum<Real>(columns, [=](std::int64_t column) {
      const Real e = exponential(l[column] - largest);
      l[column] = e;
      return e;
    });
    lanes.once([=, this] {
      losses[row] = std::log(total) - above;
      normalizers[row] = total;
      l[target] -= total;
    });
  }
};

/// Row functor of divide_rows: out [N, C] = x [N, C] * factor / divisors [N].
template <class Real>
struct DivideRows {
  const Real* x;
  const Real* divisors;
  Real factor;
  Real* out;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const x_row = x + row * columns;
    Real* const out_row = out + row * columns;
    const Real multiplier = factor / divisors[row];
    lanes.each(columns, [=](std::int64_t column) { out_row[column] = x_row[column] * multiplier; });
  }
};

}  // namespace twinax::tensor
