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

/// Element functor: out = gelu(u) * gate.
template <class Real>
struct GatedGeluForward {
  const Real* u;
  const Real* gate;
  Real* out;
  TWINAX_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = Gelu<Real>(u[i]).value(u[i]) * gate[i]; }
};

/// Element functor of gated_gelu_backward; d_gate may be d_out.
template <class Real>
struct GatedGeluBackward {
  const Real* u;
  const Real* gate;
  const Real* d_out;
  Real* d_u;
  Real* d_gate;
  Real* out;
  TWINAX_HOST_DEVICE void operator()(std::int64_t i) const {
    const Real value = u[i];
    const Real g = gate[i];
    const Real d = d_out[i];
    const Gelu<Real> gelu(value);
    const Real activated = gelu.value(value);
    out[i] = activated * g;
    d_gate[i] = d * activated;
    d_u[i] = d * g * gelu.derivative(value);
  }
};

}  // namespace twinax::tensor
