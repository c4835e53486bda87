#pragma once

#include <cmath>
#include <cstdint>

#include "twinax/tensor/for_each.hpp"

namespace twinax::tensor {

/// Element functor: out = a + b.
template <class Real>
struct Add {
  const Real* a;
  const Real* b;
  Real* out;
  TWINAX_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = a[i] + b[i]; }
};

/// Element functor: values *= factor.
template <class Real>
struct Scale {
  Real* values;
  Real factor;
  TWINAX_HOST_DEVICE void operator()(std::int64_t i) const { values[i] *= factor; }
};

/// Element functor of adamw_update; the factors are computed once per update in double precision.
template <class Real>
struct AdamWElement {
  const Real* gradients;
  Real* parameters;
  Real* first_moments;
  Real* second_moments;
  Real gradient_scale;
  Real keep;  ///< 1 - learning_rate * weight_decay, or 1
  Real beta1, beta2;
  Real one_minus_beta1, one_minus_beta2;
  Real step_size;        ///< learning_rate / (1 - beta1^step)
  Real root_correction;  ///< 1 / sqrt(1 - beta2^step)
  Real epsilon;
  TWINAX_HOST_DEVICE void operator()(std::int64_t i) const {
    const Real g = gradients[i] * gradient_scale;
    const Real m = beta1 * first_moments[i] + one_minus_beta1 * g;
    const Real v = beta2 * second_moments[i] + one_minus_beta2 * g * g;
    first_moments[i] = m;
    second_moments[i] = v;
    parameters[i] = keep * parameters[i] - step_size * m / (std::sqrt(v) * root_correction + epsilon);
  }
};

/// Row functor: y [N, K] += bias [K].
template <class Real>
struct AddBias {
  Real* y;
  const Real* bias;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    Real* const y_row = y + row * columns;
    const Real* const b = bias;
    lanes.each(columns, [=](std::int64_t column) { y_row[column] += b[column]; });
  }
};

/// Row functor: out [N, C] = x [N, C] + delta [N, C] + bias [C].
template <class Real>
struct AddResidual {
  const Real* x;
  const Real* delta;
  const Real* bias;
  Real* out;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const x_row = x + row * columns;
    const Real* const delta_row = delta + row * columns;
    Real* const out_row = out + row * columns;
    const Real* const b = bias;
    lanes.each(columns, [=](std::int64_t column) { out_row[column] = x_row[column] + delta_row[column] + b[column]; });
  }
};

/// Row functor of embedding_forward: one row of out [B * T, C].
template <class Real>
struct EmbedRow {
  const std::int32_t* tokens;
  const Real* token_table;
  const Real* position_table;
  Real* out;
  std::int64_t length;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const token = token_table + tokens[row] * columns;
    const Real* const position = position_table + (row % length) * columns;
    Real* const out_row = out + row * columns;
    lanes.each(columns, [=](std::int64_t column) { out_row[column] = token[column] + position[column]; });
  }
};

/// Row functor of lookup_forward: one row of out [N, C].
template <class Real>
struct LookupRow {
  const std::int32_t* tokens;
  const Real* token_table;
  Real* out;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const token = token_table + tokens[row] * columns;
    Real* const out_row = out + row * columns;
    lanes.each(columns, [=](std::int64_t column) { out_row[column] = token[column]; });
  }
};

}  // namespace twinax::tensor
