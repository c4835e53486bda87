#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "tensor/gemm_backend.hpp"

namespace twinax::tensor {
namespace {

template <class Real>
class WithEigen final : public GemmBackend<Real> {
  using Stored = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Strided = Eigen::OuterStride<>;

 public:
  void run(const Product& p, const Real* a, const Real* b, Real* c) override {
    const bool transpose_a = p.form == Form::TN || p.form == Form::TT;
    const bool transpose_b = p.form == Form::NT || p.form == Form::TT;
    const Eigen::Map<const Stored, 0, Strided> left(a, transpose_a ? p.k : p.m, transpose_a ? p.m : p.k, Strided(p.stride_a));
    const Eigen::Map<const Stored, 0, Strided> right(b, transpose_b ? p.n : p.k, transpose_b ? p.k : p.n, Strided(p.stride_b));
    Eigen::Map<Stored, 0, Strided> out(c, p.m, p.n, Strided(p.stride_c));
    if (p.into == Into::Set) out.setZero();
    if (transpose_a && transpose_b) {
      out.noalias() += left.transpose() * right.transpose();
    } else if (transpose_a) {
      out.noalias() += left.transpose() * right;
    } else if (transpose_b) {
      out.noalias() += left * right.transpose();
    } else {
      out.noalias() += left * right;
    }
  }
};

}  // namespace

template <class Real>
std::unique_ptr<GemmBackend<Real>> make_eigen() {
  return std::make_unique<WithEigen<Real>>();
}
template std::unique_ptr<GemmBackend<float>> make_eigen<float>();
template std::unique_ptr<GemmBackend<double>> make_eigen<double>();

}  // namespace twinax::tensor
