#include <cblas.h>

#include "twinax/base/narrow.hpp"

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

template <class Real>
class Cblas final : public GemmBackend<Real> {
 public:
  void run(const Product& p, const Real* a, const Real* b, Real* c) override {
    const CBLAS_TRANSPOSE transpose_a = p.form == Form::TN || p.form == Form::TT ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE transpose_b = p.form == Form::NT || p.form == Form::TT ? CblasTrans : CblasNoTrans;
    const auto m = narrow<blasint>(p.m);
    const auto n = narrow<blasint>(p.n);
    const auto k = narrow<blasint>(p.k);
    const auto stride_a = narrow<blasint>(p.stride_a);
    const auto stride_b = narrow<blasint>(p.stride_b);
    const auto stride_c = narrow<blasint>(p.stride_c);
    const Real beta = p.into == Into::Add ? Real(1) : Real(0);
    if constexpr (sizeof(Real) == sizeof(float)) {
      cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, m, n, k, 1, a, stride_a, b, stride_b, beta, c, stride_c);
    } else {
      cblas_dgemm(CblasRowMajor, transpose_a, transpose_b, m, n, k, 1, a, stride_a, b, stride_b, beta, c, stride_c);
    }
  }
};

}  // namespace

template <class Real>
std::unique_ptr<GemmBackend<Real>> make_cblas() {
  return std::make_unique<Cblas<Real>>();
}
template std::unique_ptr<GemmBackend<float>> make_cblas<float>();
template std::unique_ptr<GemmBackend<double>> make_cblas<double>();

}  // namespace twinax::tensor
