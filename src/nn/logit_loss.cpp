#include "nn/logit_loss.hpp"

#include <algorithm>

#include "twinax/tensor/kernels.hpp"
#include "twinax/tensor/linear.hpp"

namespace twinax::nn {

template <class Real>
LogitLoss<Real>::LogitLoss(std::int64_t width, std::int64_t vocabulary, std::int64_t max_rows, tensor::Matmul& matmul,
                           std::pmr::memory_resource* memory)
    : width_(width),
      vocabulary_(vocabulary),
      matmul_(matmul),
      logits_(max_rows * vocabulary, memory),
      normalizers_(max_rows, memory),
      losses_(max_rows, memory) {}

template <class Real>
void LogitLoss<Real>::forward(std::span<const Real> normed, std::span<const Real> head, std::span<const std::int32_t> targets) {
  const auto n = static_cast<std::int64_t>(targets.size());
  const auto slice = [](auto span, std::int64_t begin, std::int64_t count) {
    return span.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  };
  for (std::int64_t row = 0; row < n; row += kRows) {
    const std::int64_t rows = std::min(kRows, n - row);
    const std::span<Real> logits = slice(logits_.span(), row * vocabulary_, rows * vocabulary_);
    tensor::linear_forward<Real>(matmul_, {rows, width_, vocabulary_}, slice(normed, row * width_, rows * width_), head, logits);
    tensor::softmax_cross_entropy<Real>(logits, slice(targets, row, rows), slice(losses_.span(), row, rows),
                                        slice(normalizers_.span(), row, rows));
  }
  loss_sum_ = 0;
  for (const Real loss : losses_.first(n)) loss_sum_ += static_cast<double>(loss);
}

template <class Real>
void LogitLoss<Real>::backward(std::span<const Real> normed, std::span<const Real> head, Real scale, std::span<Real> d_head,
                               std::span<Real> scratch, std::span<Real> d_normed) {
  const std::int64_t n = static_cast<std::int64_t>(normed.size()) / width_;
  const tensor::LinearShape shape{n, width_, vocabulary_};
  const std::span<const Real> d_logits = logits_.first(n * vocabulary_);  // times the normalizers
  const std::span<const Real> normalizers = normalizers_.first(n);
  tensor::divide_rows<Real>(normed, normalizers, scale, scratch);
  tensor::linear_backward_weight<Real>(matmul_, shape, d_logits, scratch, d_head);
  tensor::linear_backward_input<Real>(matmul_, shape, d_logits, head, d_normed);
  tensor::divide_rows<Real>(d_normed, normalizers, scale, d_normed);
}

template class LogitLoss<float>;
template class LogitLoss<double>;

}  // namespace twinax::nn
