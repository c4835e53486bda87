#pragma once

#include <cmath>
#include <cstdint>

#include "twinax/tensor/for_each.hpp"

namespace twinax::tensor {

/// Row functor of rms_norm_forward: x, y [N, C], weight [C], rstd [N].
template <class Real>
struct RmsNormForward {
  const Real* x;
  const Real* weight;
  Real* y;
  Real* rstd;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const x_row = x + row * columns;
    Real* const y_row = y + row * columns;
    const Real* const w = weight;
    const Real squares = lanes.template sum<Real>(columns, [=](std::int64_t column) { return x_row[column] * x_row[column]; });
    const Real r = Real(1) / std::sqrt(squares / static_cast<Real>(columns) + static_cast<Real>(1e-6));
    lanes.each(columns, [=](std::int64_t column) { y_row[column] = x_row[column] * r * w[column]; });
    lanes.once([=, this] { rstd[row] = r; });
  }
};

/// Row functor of rms_norm_backward's input gradient: d_x [N, C] += ... from d_y [N, C].
template <class Real>
struct RmsNormBackward {
  const Real* d_y;
  const Real* x;
  const Real* weight;
  const Real* rstd;
  Real* d_x;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const d_row = d_y + row * columns;
    const Real* const x_row = x + row * columns;
    Real* const out = d_x + row * columns;
    const Real* const w = weight;
    const Real r = rstd[row];
    const Real along = lanes.template sum<Real>(columns, [=](std::int64_t column) { return d_row[column] * w[column] * x_row[column]; });
    const Real share = along * r * r / static_cast<Real>(columns);
    lanes.each(columns, [=](std::int64_t column) { out[column] += r * (d_row[column] * w[column] - x_row[column] * share); });
  }
};

}  // namespace twinax::tensor
