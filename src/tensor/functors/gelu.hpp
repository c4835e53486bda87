#pragma once

#include <cstdint>

#include "tensor/functors/exponential.hpp"

namespace twinax::tensor {

/// gelu(u), tanh form, written as u * sigmoid(2 z): accurate for all u.
template <class Real>
struct Gelu {
  static constexpr Real kTwiceRootTwoOverPi = static_cast<Real>(1.5957691216057307118);
  static constexpr Real kCubic = static_cast<Real>(0.044715);
  Real sigmoid;  ///< of 2 z
  Real slope;    ///< d(2 z) / du

  TWINAX_HOST_DEVICE explicit Gelu(Real u) {
    const Real square = u * u;
    const Real twice_z = kTwiceRootTwoOverPi * u * (Real(1) + kCubic * square);
    sigmoid = Real(1) / (Real(1) + exponential(-twice_z));
    slope = kTwiceRootTwoOverPi * (Real(1) + Real(3) * kCubic * square);
  }
  /// gelu(u).
  TWINAX_HOST_DEVICE Real value(Real u) const { return u * sigmoid; }
  /// d gelu(u) / du.
  TWINAX_HOST_DEVICE Real derivative(Real u) const { return sigmoid + u * sigmoid * (Real(1) - sigmoid) * slope; }
};

/// Row functor: u [N, K] += bias [K]; g [N, K] = gelu(u).
template <class Real>
struct BiasGeluForward {
  Real* u;
  const Real* bias;
  Real* g;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    Real* const u_row = u + row * columns;
    Real* const g_row = g + row * columns;
    const Real* const b = bias;
    lanes.each(columns, [=](std::int64_t column) {
      const Real value = u_row[column] + b[column];
      u_row[column] = value;
      g_row[column] = Gelu<Real>(value).value(value);
    });
  }
};

/// Row functor: d_g [N, K] becomes the gradient of u [N, K]; g [N, K] = gelu(u).
template <class Real>
struct GeluBackward {
  const Real* u;
  Real* d_g;
  Real* g;
  std::int64_t columns;
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const u_row = u + row * columns;
    Real* const d_row = d_g + row * columns;
    Real* const g_row = g + row * columns;
    lanes.each(columns, [=](std::int64_t column) {
      const Real value = u_row[column];
      const Gelu<Real> gelu(value);
      g_row[column] = gelu.value(value);
      d_row[column] *= gelu.derivative(value);
    });
  }
};

/// Row functor: out [N, K] = gelu(u) * gate of u_gate [N, 2K].
template <class Real>
struct GatedGeluForward {
  const Real* u_gate;
  Real* out;
  std::int64_t columns;  ///< K
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const u = u_gate + row * 2 * columns;
    const Real* const gate = u + columns;
    Real* const out_row = out + row * columns;
    lanes.each(columns, [=](std::int64_t column) { out_row[column] = Gelu<Real>(u[column]).value(u[column]) * gate[column]; });
  }
};

/// Row functor of gated_gelu_backward.
template <class Real>
struct GatedGeluBackward {
  const Real* u_gate;
  const Real* d_out;
  Real* d_u_gate;
  Real* out;
  std::int64_t columns;  ///< K
  template <class Lanes>
  TWINAX_HOST_DEVICE void operator()(const Lanes& lanes, std::int64_t row) const {
    const Real* const u = u_gate + row * 2 * columns;
    const Real* const gate = u + columns;
    const Real* const d_row = d_out + row * columns;
    Real* const d_u = d_u_gate + row * 2 * columns;
    Real* const d_gate = d_u + columns;
    Real* const out_row = out + row * columns;
    lanes.each(columns, [=](std::int64_t column) {
      const Real value = u[column];
      const Gelu<Real> gelu(value);
      const Real activated = gelu.value(value);
      out_row[column] = activated * gate[column];
      d_gate[column] = d_row[column] * activated;
      d_u[column] = d_row[column] * gate[column] * gelu.derivative(value);
    });
  }
};

}  // namespace twinax::tensor
