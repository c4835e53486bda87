#pragma once

#include <cmath>
#include <cstdint>

#include "twinax/tensor/for_each.hpp"

namespace twinax::tensor {

/// Row functor of layer_norm_forward: x, y [N, C], weight, bias [C], mean, rstd [N].
template <class Real>
struct LayerNormForward {
  const Real* x;
  const Real* weight;
  const Real* bias;
  Real* y;
  Real* mean;
  Real* rstd;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const x_row = x + row * columns;
    Real* const y_row = y + row * columns;
    const Real* const w = weight;
    const Real* const b = bias;
    const Real share = Real(1) / static_cast<Real>(columns);
    const Real m = share * lanes.template sum<Real>(columns, [=](std::int64_t column) { return x_row[column]; });
    const Real variance = share * lanes.template sum<Real>(columns, [=](std::int64_t column) {
      const Real centred = x_row[column] - m;
      return centred * centred;
    });
    const Real r = Real(1) / std::sqrt(variance + static_cast<Real>(1e-5));
    lanes.each(columns, [=](std::int64_t column) { y_row[column] = (x_row[column] - m) * r * w[column] + b[column]; });
    lanes.once([=, this] {
      mean[row] = m;
      rstd[row] = r;
    });
  }
};

/// Row functor of layer_norm_backward's input gradient: d_x [N, C] += ... from d_y [N, C].
template <class Real>
struct LayerNormBackward {
  const Real* d_y;
  const Real* x;
  const Real* weight;
  const Real* mean;
  const Real* rstd;
  Real* d_x;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const d_row = d_y + row * columns;
    const Real* const x_row = x + row * columns;
    Real* const out = d_x + row * columns;
    const Real* const w = weight;
    const Real m = mean[row];
    const Real r = rstd[row];
    const Real share = Real(1) / static_cast<Real>(columns);
    const Real d_mean = share * lanes.template sum<Real>(columns, [=](std::int64_t column) { return d_row[column] * w[column]; });
    const Real d_norm =
        share * r * lanes.template sum<Real>(columns, [=](std::int64_t column) { return d_row[column] * w[column] * (x_row[column] - m); });
    lanes.each(columns, [=](std::int64_t column) {
      const Real normal = (x_row[column] - m) * r;
      out[column] += (d_row[column] * w[column] - d_mean - normal * d_norm) * r;
    });
  }
};

}  // namespace twinax::tensor
