#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "twinax/tensor/matmul.hpp"

namespace twinax::tensor {

/// One way to compute products; m, n, k >= 1 and operands are checked before.
template <class Real>
class GemmBackend {
 public:
  GemmBackend() = default;
  GemmBackend(const GemmBackend&) = delete;
  GemmBackend& operator=(const GemmBackend&) = delete;
  virtual ~GemmBackend() = default;
  /// c (+)= op(a) op(b). Throws NativeError.
  virtual void run(const Product& product, const Real* a, const Real* b, Real* c) = 0;
};

/// A backend of this build: its name, what it is, how to make one.
template <class Real>
struct GemmBackendRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<GemmBackend<Real>> (*make)();
};

/// The backends of this build, never none.
template <class Real>
[[nodiscard]] std::span<const GemmBackendRow<Real>> gemm_backends();

[[nodiscard]] std::unique_ptr<GemmBackend<float>> make_dnnl_sgemm();
[[nodiscard]] std::unique_ptr<GemmBackend<float>> make_dnnl_matmul();
template <class Real>
[[nodiscard]] std::unique_ptr<GemmBackend<Real>> make_cblas();
template <class Real>
[[nodiscard]] std::unique_ptr<GemmBackend<Real>> make_eigen();

/// Makes the libraries behind the backends use one thread when called from this thread.
void use_one_thread();

}  // namespace twinax::tensor
