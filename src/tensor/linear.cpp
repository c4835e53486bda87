#include "twinax/tensor/linear.hpp"

namespace twinax::tensor {

template <class Real>
void linear_forward(Matmul& matmul, const LinearShape& s, std::span<const Real> x, std::span<const Real> weight, std::span<Real> y) {
  matmul.multiply<Real>(Form::NT, as_matrix(x, s.rows, s.inputs), as_matrix(weight, s.outputs, s.inputs), as_matrix(y, s.rows, s.outputs));
}

template <class Real>
void linear_backward_input(Matmul& matmul, const LinearShape& s, std::span<const Real> d_y, std::span<const Real> weight,
                           std::span<Real> d_x) {
  matmul.multiply<Real>(Form::NN, as_matrix(d_y, s.rows, s.outputs), as_matrix(weight, s.outputs, s.inputs),
                        as_matrix(d_x, s.rows, s.inputs));
}

template <class Real>
void linear_backward_weight(Matmul& matmul, const LinearShape& s, std::span<const Real> d_y, std::span<const Real> x,
                            std::span<Real> d_weight) {
  matmul.multiply<Real>(Form::TN, as_matrix(d_y, s.rows, s.outputs), as_matrix(x, s.rows, s.inputs),
                        as_matrix(d_weight, s.outputs, s.inputs), Into::Add);
}

std::vector<Product> linear_products(Precision precision, const LinearShape& s) {
  return {dense_product(precision, Form::NT, Into::Set, s.rows, s.outputs, s.inputs),
          dense_product(precision, Form::NN, Into::Set, s.rows, s.inputs, s.outputs),
          dense_product(precision, Form::TN, Into::Add, s.outputs, s.inputs, s.rows)};
}

#define TWINAX_INSTANTIATE(Real)                                                                                                         \
  template void linear_forward<Real>(Matmul&, const LinearShape&, std::span<const Real>, std::span<const Real>, std::span<Real>);        \
  template void linear_backward_input<Real>(Matmul&, const LinearShape&, std::span<const Real>, std::span<const Real>, std::span<Real>); \
  template void linear_backward_weight<Real>(Matmul&, const LinearShape&, std::span<const Real>, std::span<const Real>, std::span<Real>);
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::tensor
