#include "nn/gpt_head.hpp"

#include <algorithm>

namespace twinax::nn {

template <class T>
RootParameters<T>::RootParameters(const GptShape& shape, std::span<T> flat) {
  const auto table = static_cast<std::size_t>(shape.vocabulary * shape.width);
  const auto positions = static_cast<std::size_t>(shape.context * shape.width);
  const auto width = static_cast<std::size_t>(shape.width);
  wte = flat.first(table);
  wpe = flat.subspan(table, positions);
  ln_f_weight = flat.subspan(table + positions, width);
  ln_f_bias = flat.subspan(table + positions + width, width);
  head = shape.tied ? wte : flat.subspan(table + positions + 2 * width, table);
}

template <class Real>
Head<Real>::Head(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, Workspace<Real>& workspace)
    : width_(shape.width), vocabulary_(shape.vocabulary), matmul_(matmul), workspace_(workspace) {
  const std::int64_t n = max_sequences * shape.context;
  std::pmr::memory_resource* const memory = workspace.memory.activations;
  normed_ = tensor::Buffer<Real>(n * shape.width, memory);
  mean_ = tensor::Buffer<Real>(n, memory);
  rstd_ = tensor::Buffer<Real>(n, memory);
  logits_ = tensor::Buffer<Real>(n * shape.vocabulary, memory);
  normalizers_ = tensor::Buffer<Real>(n, memory);
  losses_ = tensor::Buffer<Real>(n, memory);
}

template <class Real>
void Head<Real>::forward(const Running& running, const RootParameters<const Real>& p, std::span<const Real> in) {
  const std::int64_t n = running.rows();
  const std::span<Real> normed = normed_.first(n * width_);
  tensor::layer_norm_forward<Real>(in, p.ln_f_weight, p.ln_f_bias, normed, mean_.first(n), rstd_.first(n));
  const auto slice = [](auto span, std::int64_t begin, std::int64_t count) {
    return span.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  };
  for (std::int64_t row = 0; row < n; row += kRows) {
    const std::int64_t rows = std::min(kRows, n - row);
    const std::span<Real> logits = slice(logits_.span(), row * vocabulary_, rows * vocabulary_);
    tensor::linear_forward<Real>(matmul_, {rows, width_, vocabulary_}, slice(normed, row * width_, rows * width_), p.head, logits);
    tensor::softmax_cross_entropy<Real>(logits, slice(running.targets, row, rows), slice(losses_.span(), row, rows),
                                        slice(normalizers_.span(), row, rows));
  }
  loss_sum_ = 0;
  for (const Real loss : losses_.first(n)) loss_sum_ += static_cast<double>(loss);
}

template <class Real>
void Head<Real>::backward(const Running& running, const RootParameters<const Real>& p, const RootParameters<Real>& g,
                          std::span<const Real> in, Real scale) {
  const std::int64_t n = running.rows();
  const tensor::LinearShape shape{n, width_, vocabulary_};
  const std::span<const Real> d_logits = logits_.first(n * vocabulary_);  // times the normalizers
  const std::span<const Real> normalizers = normalizers_.first(n);
  const std::span<Real> scaled = workspace_.wide.first(n * width_);
  const std::span<Real> d_normed = workspace_.narrow.first(n * width_);
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * width_);

  tensor::divide_rows<Real>(normed_.first(n * width_), normalizers, scale, scaled);
  tensor::linear_backward_weight<Real>(matmul_, shape, d_logits, scaled, g.head);
  tensor::linear_backward_input<Real>(matmul_, shape, d_logits, p.head, d_normed);
  tensor::divide_rows<Real>(d_normed, normalizers, scale, d_normed);
  std::fill(d_stream.begin(), d_stream.end(), Real(0));
  tensor::layer_norm_backward<Real>(d_normed, in, p.ln_f_weight, mean_.first(n), rstd_.first(n), d_stream, g.ln_f_weight, g.ln_f_bias);
}

template struct RootParameters<float>;
template struct RootParameters<const float>;
template struct RootParameters<double>;
template struct RootParameters<const double>;
template class Head<float>;
template class Head<double>;

}  // namespace twinax::nn
