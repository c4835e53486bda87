#include <algorithm>
#include <cstdint>
#include <new>

#include <cblas.h>
#include <sys/mman.h>

#include "twinax/base/narrow.hpp"
#include "twinax/tensor/buffer.hpp"

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

/// What OpenBLAS takes for a thread's packed operands at its first product (128 MiB), and room to spare.
constexpr std::size_t kOpenBlasBuffer = std::size_t{136} << 20;

/// OpenBLAS asks for its buffer again and again, for ever, where the system refuses it (its blas_memory_alloc): ask before it does.
void check_memory_for_openblas() {
  void* const probe = mmap(nullptr, kOpenBlasBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  munmap(probe, kOpenBlasBuffer);
}

template <class Real>
class Cblas final : public GemmBackend<Real> {
 public:
  /// Has OpenBLAS take its buffer, which it keeps, while there is memory. Throws std::bad_alloc if there is none.
  Cblas() {
    check_memory_for_openblas();
    constexpr std::int64_t kSide = 128;  // smaller ones may go without a buffer
    const Buffer<Real> a(kSide * kSide);
    const Buffer<Real> c(kSide * kSide);
    std::fill(a.span().begin(), a.span().end(), Real(1));
    run(dense_product(Precision::Fp32, Form::NN, Into::Set, kSide, kSide, kSide), a.span().data(), a.span().data(), c.span().data());
  }

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
