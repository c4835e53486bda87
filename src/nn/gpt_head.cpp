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
    : width_(shape.width),
      workspace_(workspace),
      normed_(max_sequences * shape.context * shape.width, workspace.memory.activations),
      mean_(max_sequences * shape.context, workspace.memory.activations),
      rstd_(max_sequences * shape.context, workspace.memory.activations),
      loss_(shape.width, shape.vocabulary, max_sequences * shape.context, matmul, workspace.memory.activations) {}

template <class Real>
void Head<Real>::forward(const Running& running, const RootParameters<const Real>& p, std::span<const Real> in) {
  const std::int64_t n = running.rows();
  const std::span<Real> normed = normed_.first(n * width_);
  tensor::layer_norm_forward<Real>(in, p.ln_f_weight, p.ln_f_bias, normed, mean_.first(n), rstd_.first(n));
  loss_.forward(normed, p.head, running.targets);
}

template <class Real>
void Head<Real>::backward(const Running& running, const RootParameters<const Real>& p, const RootParameters<Real>& g,
                          std::span<const Real> in, Real scale) {
  const std::int64_t n = running.rows();
  const std::span<Real> d_normed = workspace_.narrow.first(n * width_);
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * width_);
  loss_.backward(normed_.first(n * width_), p.head, scale, g.head, workspace_.wide.first(n * width_), d_normed);
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
