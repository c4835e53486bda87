#include "nn/gpt_block.hpp"

#include "nn/unit_writer.hpp"

namespace twinax::nn {
namespace {

template <class Real>
std::span<const Real> read(const tensor::Buffer<Real>& buffer, std::int64_t elements) {
  return buffer.first(elements);
}

}  // namespace

template <class T>
BlockParameters<T>::BlockParameters(std::int64_t c, std::span<T> flat) {
  ln_1_weight = take(flat, c);
  ln_1_bias = take(flat, c);
  attn_weight = take(flat, 3 * c * c);
  attn_bias = take(flat, 3 * c);
  attn_proj_weight = take(flat, c * c);
  attn_proj_bias = take(flat, c);
  ln_2_weight = take(flat, c);
  ln_2_bias = take(flat, c);
  fc_weight = take(flat, 4 * c * c);
  fc_bias = take(flat, 4 * c);
  fc_proj_weight = take(flat, 4 * c * c);
  fc_proj_bias = take(flat, c);
}

template <class Real>
Kept<Real>::Kept(const GptShape& shape, std::int64_t max_sequences, std::pmr::memory_resource* memory) {
  const std::int64_t n = max_sequences * shape.context;
  const std::int64_t c = shape.width;
  normed_1 = tensor::Buffer<Real>(n * c, memory);
  mean_1 = tensor::Buffer<Real>(n, memory);
  rstd_1 = tensor::Buffer<Real>(n, memory);
  qkv = tensor::Buffer<Real>(n * 3 * c, memory);
  log_sum = tensor::Buffer<Real>(n * shape.heads, memory);
  attended = tensor::Buffer<Real>(n * c, memory);
  middle = tensor::Buffer<Real>(n * c, memory);
  normed_2 = tensor::Buffer<Real>(n * c, memory);
  mean_2 = tensor::Buffer<Real>(n, memory);
  rstd_2 = tensor::Buffer<Real>(n, memory);
  before_gelu = tensor::Buffer<Real>(n * 4 * c, memory);
}

template <class Real>
Block<Real>::Block(const GptShape& shape, tensor::Matmul& matmul, Workspace<Real>& workspace, Kept<Real>& kept)
    : width_(shape.width), heads_(shape.heads), matmul_(matmul), workspace_(workspace), kept_(kept) {}

template <class Real>
void Block<Real>::forward(const Running& running, const BlockParameters<const Real>& p, std::span<const Real> in, std::span<Real> out) {
  const std::int64_t n = running.rows();
  const std::int64_t c = width_;
  const std::span<Real> branch = workspace_.narrow.first(n * c);
  const std::span<Real> qkv = kept_.qkv.first(n * 3 * c);
  const std::span<Real> middle = kept_.middle.first(n * c);
  const std::span<Real> u = kept_.before_gelu.first(n * 4 * c);
  const std::span<Real> g = workspace_.wide.first(n * 4 * c);

  tensor::layer_norm_forward<Real>(in, p.ln_1_weight, p.ln_1_bias, kept_.normed_1.first(n * c), kept_.mean_1.first(n),
                                   kept_.rstd_1.first(n));
  tensor::linear_forward<Real>(matmul_, {n, c, 3 * c}, read(kept_.normed_1, n * c), p.attn_weight, qkv);
  tensor::add_bias<Real>(qkv, p.attn_bias);
  tensor::attention_forward<Real>(running.batch, heads_, qkv, kept_.attended.first(n * c), kept_.log_sum.first(n * heads_),
                                  workspace_.attention.span());
  tensor::linear_forward<Real>(matmul_, {n, c, c}, read(kept_.attended, n * c), p.attn_proj_weight, branch);
  tensor::add_residual<Real>(in, branch, p.attn_proj_bias, middle);

  tensor::layer_norm_forward<Real>(middle, p.ln_2_weight, p.ln_2_bias, kept_.normed_2.first(n * c), kept_.mean_2.first(n),
                                   kept_.rstd_2.first(n));
  tensor::linear_forward<Real>(matmul_, {n, c, 4 * c}, read(kept_.normed_2, n * c), p.fc_weight, u);
  tensor::bias_gelu_forward<Real>(u, p.fc_bias, g);
  tensor::linear_forward<Real>(matmul_, {n, 4 * c, c}, g, p.fc_proj_weight, branch);
  tensor::add_residual<Real>(middle, branch, p.fc_proj_bias, out);
}

template <class Real>
void Block<Real>::mlp_backward(const Running& running, const BlockParameters<const Real>& p, const BlockParameters<Real>& g) {
  const std::int64_t n = running.rows();
  const std::int64_t c = width_;
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * c);
  const std::span<Real> d_normed = workspace_.narrow.first(n * c);
  const std::span<Real> gelu = workspace_.wide.first(n * 4 * c);
  const std::span<Real> d_u = workspace_.wide_gradient.first(n * 4 * c);

  tensor::linear_backward_input<Real>(matmul_, {n, 4 * c, c}, d_stream, p.fc_proj_weight, d_u);
  tensor::bias_gelu_backward<Real>(read(kept_.before_gelu, n * 4 * c), d_u, gelu, g.fc_bias);
  tensor::linear_backward_weight<Real>(matmul_, {n, 4 * c, c}, d_stream, gelu, g.fc_proj_weight);
  tensor::add_bias_gradient<Real>(d_stream, g.fc_proj_bias);
  tensor::linear_backward_weight<Real>(matmul_, {n, c, 4 * c}, d_u, read(kept_.normed_2, n * c), g.fc_weight);
  tensor::linear_backward_input<Real>(matmul_, {n, c, 4 * c}, d_u, p.fc_weight, d_normed);
  tensor::layer_norm_backward<Real>(d_normed, read(kept_.middle, n * c), p.ln_2_weight, read(kept_.mean_2, n), read(kept_.rstd_2, n),
                                    d_stream, g.ln_2_weight, g.ln_2_bias);
}

template <class Real>
void Block<Real>::attention_backward(const Running& running, const BlockParameters<const Real>& p, const BlockParameters<Real>& g,
                                     std::span<const Real> in) {
  const std::int64_t n = running.rows();
  const std::int64_t c = width_;
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * c);
  const std::span<Real> d_attended = workspace_.narrow.first(n * c);
  const std::span<Real> d_normed = workspace_.narrow.first(n * c);  // after d_attended has been used
  const std::span<Real> d_qkv = workspace_.wide_gradient.first(n * 3 * c);

  tensor::linear_backward_weight<Real>(matmul_, {n, c, c}, d_stream, read(kept_.attended, n * c), g.attn_proj_weight);
  tensor::add_bias_gradient<Real>(d_stream, g.attn_proj_bias);
  tensor::linear_backward_input<Real>(matmul_, {n, c, c}, d_stream, p.attn_proj_weight, d_attended);
  tensor::attention_backward<Real>(running.batch, heads_, d_attended, read(kept_.qkv, n * 3 * c), read(kept_.attended, n * c),
                                   read(kept_.log_sum, n * heads_), d_qkv, workspace_.attention.span());
  tensor::add_bias_gradient<Real>(d_qkv, g.attn_bias);
  tensor::linear_backward_weight<Real>(matmul_, {n, c, 3 * c}, d_qkv, read(kept_.normed_1, n * c), g.attn_weight);
  tensor::linear_backward_input<Real>(matmul_, {n, c, 3 * c}, d_qkv, p.attn_weight, d_normed);
  tensor::layer_norm_backward<Real>(d_normed, in, p.ln_1_weight, read(kept_.mean_1, n), read(kept_.rstd_1, n), d_stream, g.ln_1_weight,
                                    g.ln_1_bias);
}

template <class Real>
void Block<Real>::backward(const Running& running, const BlockParameters<const Real>& p, const BlockParameters<Real>& g,
                           std::span<const Real> in) {
  mlp_backward(running, p, g);
  attention_backward(running, p, g, in);
}

template struct BlockParameters<float>;
template struct BlockParameters<const float>;
template struct BlockParameters<double>;
template struct BlockParameters<const double>;
template struct Kept<float>;
template struct Kept<double>;
template class Block<float>;
template class Block<double>;

}  // namespace twinax::nn
