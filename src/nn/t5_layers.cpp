#include "nn/t5_layers.hpp"

#include <algorithm>

#include "twinax/tensor/kernels.hpp"
#include "twinax/tensor/linear.hpp"

#include "nn/unit_writer.hpp"

namespace twinax::nn {
namespace {

template <class Real>
std::span<const Real> read(const tensor::Buffer<Real>& buffer, std::int64_t elements) {
  return buffer.first(elements);
}

std::int64_t largest_rows(const T5Shape& shape, std::int64_t sequences) {
  return sequences * std::max(shape.context, shape.targets);
}

std::int64_t inner(const T5Shape& shape) {
  return shape.heads * shape.head_width;
}

}  // namespace

template <class T>
T5AttentionParameters<T>::T5AttentionParameters(const T5Shape& shape, bool has_bias, std::span<T>& flat) {
  qkv = take(flat, 3 * inner(shape) * shape.width);
  o = take(flat, shape.width * inner(shape));
  if (has_bias) buckets = take(flat, t5_buckets(false).buckets * shape.heads);
  norm = take(flat, shape.width);
}

template <class T>
T5FeedForwardParameters<T>::T5FeedForwardParameters(const T5Shape& shape, std::span<T>& flat) {
  wi = take(flat, 2 * shape.feed_forward * shape.width);
  wo = take(flat, shape.width * shape.feed_forward);
  norm = take(flat, shape.width);
}

template <class Real>
T5Workspace<Real>::T5Workspace(const T5Shape& shape, std::int64_t max_sequences, const ModelMemory& its_memory)
    : memory(its_memory),
      stream_gradient(largest_rows(shape, max_sequences) * shape.width, memory.workspaces),
      encoder_gradient(max_sequences * shape.context * shape.width, memory.workspaces),
      narrow(largest_rows(shape, max_sequences) * std::max({shape.width, inner(shape), shape.feed_forward}), memory.workspaces),
      branch(largest_rows(shape, max_sequences) * std::max({shape.width, inner(shape), shape.feed_forward}), memory.workspaces),
      wide_gradient(largest_rows(shape, max_sequences) * std::max(3 * inner(shape), 2 * shape.feed_forward), memory.workspaces),
      attention(tensor::biased_attention_scratch({.keys = std::max(shape.context, shape.targets), .head_width = shape.head_width}),
                memory.workspaces) {}

template <class Real>
T5PositionBias<Real>::T5PositionBias(const T5Shape& shape, bool is_decoder, std::pmr::memory_resource* memory)
    : buckets(t5_buckets(is_decoder)),
      values(shape.heads * (2 * (is_decoder ? shape.targets : shape.context) - 1), memory),
      gradients(shape.heads * (2 * (is_decoder ? shape.targets : shape.context) - 1), memory) {}

template <class Real>
T5SelfAttention<Real>::T5SelfAttention(const T5Shape& shape, bool is_decoder, std::int64_t max_sequences, tensor::Matmul& matmul,
                                       T5Workspace<Real>& workspace)
    : shape_(shape), is_decoder_(is_decoder), matmul_(matmul), workspace_(workspace) {
  const std::int64_t n = max_sequences * (is_decoder ? shape.targets : shape.context);
  normed_ = tensor::Buffer<Real>(n * shape.width, workspace.memory.activations);
  rstd_ = tensor::Buffer<Real>(n, workspace.memory.activations);
  qkv_ = tensor::Buffer<Real>(n * 3 * inner(shape), workspace.memory.activations);
  log_sum_ = tensor::Buffer<Real>(n * shape.heads, workspace.memory.activations);
  attended_ = tensor::Buffer<Real>(n * inner(shape), workspace.memory.activations);
}

template <class Real>
tensor::AttentionShape T5SelfAttention<Real>::attention_shape(std::int64_t batch, std::int64_t length) const {
  return {.batch = batch, .queries = length, .keys = length, .heads = shape_.heads, .head_width = shape_.head_width, .causal = is_decoder_};
}

template <class Real>
void T5SelfAttention<Real>::forward(std::int64_t batch, std::int64_t length, const T5AttentionParameters<const Real>& p,
                                    T5PositionBias<Real>& bias, std::span<const Real> in, std::span<Real> out) {
  const tensor::AttentionShape attention = attention_shape(batch, length);
  const std::int64_t n = batch * length;
  const std::int64_t c = shape_.width;
  const std::int64_t hd = inner(shape_);
  const std::span<Real> qkv = qkv_.first(n * 3 * hd);
  const std::span<Real> attended = attended_.first(n * hd);
  const std::span<Real> branch = workspace_.branch.first(n * c);
  const std::span<Real> values = bias.values.first(shape_.heads * attention.distances());
  if (!p.buckets.empty()) tensor::position_bias_forward<Real>(bias.buckets, attention, p.buckets, values);
  tensor::rms_norm_forward<Real>(in, p.norm, normed_.first(n * c), rstd_.first(n));
  tensor::linear_forward<Real>(matmul_, {n, c, 3 * hd}, read(normed_, n * c), p.qkv, qkv);
  const std::span<const Real> operands = qkv;
  tensor::biased_attention_forward<Real>(attention,
                                         {tensor::columns_of(operands, 3 * hd, 0, hd), tensor::columns_of(operands, 3 * hd, hd, hd),
                                          tensor::columns_of(operands, 3 * hd, 2 * hd, hd)},
                                         values, attended, log_sum_.first(n * shape_.heads), workspace_.attention.span());
  tensor::linear_forward<Real>(matmul_, {n, hd, c}, attended, p.o, branch);
  tensor::add<Real>(in, branch, out);
}

template <class Real>
void T5SelfAttention<Real>::backward(std::int64_t batch, std::int64_t length, const T5AttentionParameters<const Real>& p,
                                     const T5AttentionParameters<Real>& g, T5PositionBias<Real>& bias, std::span<const Real> in) {
  const tensor::AttentionShape attention = attention_shape(batch, length);
  const std::int64_t n = batch * length;
  const std::int64_t c = shape_.width;
  const std::int64_t hd = inner(shape_);
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * c);
  const std::span<Real> d_attended = workspace_.narrow.first(n * hd);
  const std::span<Real> d_normed = workspace_.branch.first(n * c);
  const std::span<Real> d_qkv = workspace_.wide_gradient.first(n * 3 * hd);
  const std::span<const Real> qkv = qkv_.first(n * 3 * hd);
  const std::span<const Real> values = bias.values.first(shape_.heads * attention.distances());
  const std::span<Real> d_values = bias.gradients.first(shape_.heads * attention.distances());
  tensor::linear_backward_weight<Real>(matmul_, {n, hd, c}, d_stream, read(attended_, n * hd), g.o);
  tensor::linear_backward_input<Real>(matmul_, {n, hd, c}, d_stream, p.o, d_attended);
  const auto operands = [&](auto data) {
    return tensor::AttentionOperands<typename decltype(data)::element_type>{
        tensor::columns_of(data, 3 * hd, 0, hd), tensor::columns_of(data, 3 * hd, hd, hd), tensor::columns_of(data, 3 * hd, 2 * hd, hd)};
  };
  tensor::biased_attention_backward<Real>(attention, d_attended, operands(qkv), values, read(attended_, n * hd),
                                          read(log_sum_, n * shape_.heads), operands(d_qkv), d_values, workspace_.attention.span());
  tensor::linear_backward_weight<Real>(matmul_, {n, c, 3 * hd}, d_qkv, read(normed_, n * c), g.qkv);
  tensor::linear_backward_input<Real>(matmul_, {n, c, 3 * hd}, d_qkv, p.qkv, d_normed);
  tensor::rms_norm_backward<Real>(d_normed, in, p.norm, read(rstd_, n), d_stream, g.norm);
  if (!g.buckets.empty()) tensor::position_bias_backward<Real>(bias.buckets, attention, d_values, g.buckets);
}

template <class Real>
T5CrossAttention<Real>::T5CrossAttention(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul,
                                         T5Workspace<Real>& workspace)
    : shape_(shape), matmul_(matmul), workspace_(workspace) {
  const std::int64_t n = max_sequences * shape.targets;
  normed_ = tensor::Buffer<Real>(n * shape.width, workspace.memory.activations);
  rstd_ = tensor::Buffer<Real>(n, workspace.memory.activations);
  q_ = tensor::Buffer<Real>(n * inner(shape), workspace.memory.activations);
  kv_ = tensor::Buffer<Real>(max_sequences * shape.context * 2 * inner(shape), workspace.memory.activations);
  log_sum_ = tensor::Buffer<Real>(n * shape.heads, workspace.memory.activations);
  attended_ = tensor::Buffer<Real>(n * inner(shape), workspace.memory.activations);
}

template <class Real>
void T5CrossAttention<Real>::forward(const tensor::AttentionShape& attention, const T5AttentionParameters<const Real>& p,
                                     std::span<const Real> in, std::span<const Real> encoded, std::span<Real> out) {
  const std::int64_t n = attention.batch * attention.queries;
  const std::int64_t m = attention.batch * attention.keys;
  const std::int64_t c = shape_.width;
  const std::int64_t hd = inner(shape_);
  const std::span<Real> attended = attended_.first(n * hd);
  const std::span<Real> branch = workspace_.branch.first(n * c);
  tensor::rms_norm_forward<Real>(in, p.norm, normed_.first(n * c), rstd_.first(n));
  tensor::linear_forward<Real>(matmul_, {n, c, hd}, read(normed_, n * c), p.q(), q_.first(n * hd));
  tensor::linear_forward<Real>(matmul_, {m, c, 2 * hd}, encoded, p.kv(), kv_.first(m * 2 * hd));
  const std::span<const Real> kv = kv_.first(m * 2 * hd);
  tensor::biased_attention_forward<Real>(
      attention,
      {tensor::columns_of(read(q_, n * hd), hd, 0, hd), tensor::columns_of(kv, 2 * hd, 0, hd), tensor::columns_of(kv, 2 * hd, hd, hd)}, {},
      attended, log_sum_.first(n * shape_.heads), workspace_.attention.span());
  tensor::linear_forward<Real>(matmul_, {n, hd, c}, attended, p.o, branch);
  tensor::add<Real>(in, branch, out);
}

template <class Real>
void T5CrossAttention<Real>::backward(const tensor::AttentionShape& attention, const T5AttentionParameters<const Real>& p,
                                      const T5AttentionParameters<Real>& g, std::span<const Real> in, std::span<const Real> encoded) {
  const std::int64_t n = attention.batch * attention.queries;
  const std::int64_t m = attention.batch * attention.keys;
  const std::int64_t c = shape_.width;
  const std::int64_t hd = inner(shape_);
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * c);
  const std::span<Real> d_encoded = workspace_.encoder_gradient.first(m * c);
  const std::span<Real> d_attended = workspace_.narrow.first(n * hd);
  const std::span<Real> d_q = workspace_.branch.first(n * hd);
  const std::span<Real> d_kv = workspace_.wide_gradient.first(m * 2 * hd);
  const std::span<const Real> kv = kv_.first(m * 2 * hd);
  tensor::linear_backward_weight<Real>(matmul_, {n, hd, c}, d_stream, read(attended_, n * hd), g.o);
  tensor::linear_backward_input<Real>(matmul_, {n, hd, c}, d_stream, p.o, d_attended);
  tensor::biased_attention_backward<Real>(
      attention, d_attended,
      {tensor::columns_of(read(q_, n * hd), hd, 0, hd), tensor::columns_of(kv, 2 * hd, 0, hd), tensor::columns_of(kv, 2 * hd, hd, hd)}, {},
      read(attended_, n * hd), read(log_sum_, n * shape_.heads),
      {tensor::columns_of(d_q, hd, 0, hd), tensor::columns_of(d_kv, 2 * hd, 0, hd), tensor::columns_of(d_kv, 2 * hd, hd, hd)}, {},
      workspace_.attention.span());
  tensor::linear_backward_weight<Real>(matmul_, {m, c, 2 * hd}, d_kv, encoded, g.kv());
  tensor::linear_backward_weight<Real>(matmul_, {n, c, hd}, d_q, read(normed_, n * c), g.q());
  const std::span<Real> d_normed = workspace_.narrow.first(n * c);  // after d_attended has been used
  tensor::linear_backward_input<Real>(matmul_, {n, c, hd}, d_q, p.q(), d_normed);
  tensor::rms_norm_backward<Real>(d_normed, in, p.norm, read(rstd_, n), d_stream, g.norm);
  const std::span<Real> from_here = workspace_.branch.first(m * c);  // after d_q has been used
  tensor::linear_backward_input<Real>(matmul_, {m, c, 2 * hd}, d_kv, p.kv(), from_here);
  tensor::add<Real>(d_encoded, from_here, d_encoded);
}

template <class Real>
T5FeedForward<Real>::T5FeedForward(const T5Shape& shape, std::int64_t max_rows, tensor::Matmul& matmul, T5Workspace<Real>& workspace)
    : shape_(shape),
      matmul_(matmul),
      workspace_(workspace),
      normed_(max_rows * shape.width, workspace.memory.activations),
      rstd_(max_rows, workspace.memory.activations),
      u_gate_(max_rows * 2 * shape.feed_forward, workspace.memory.activations) {}

template <class Real>
void T5FeedForward<Real>::forward(const T5FeedForwardParameters<const Real>& p, std::span<const Real> in, std::span<Real> out) {
  const std::int64_t c = shape_.width;
  const std::int64_t f = shape_.feed_forward;
  const std::int64_t n = static_cast<std::int64_t>(in.size()) / c;
  const std::span<Real> activated = workspace_.narrow.first(n * f);
  const std::span<Real> branch = workspace_.branch.first(n * c);
  tensor::rms_norm_forward<Real>(in, p.norm, normed_.first(n * c), rstd_.first(n));
  tensor::linear_forward<Real>(matmul_, {n, c, 2 * f}, read(normed_, n * c), p.wi, u_gate_.first(n * 2 * f));
  tensor::gated_gelu_forward<Real>(f, read(u_gate_, n * 2 * f), activated);
  tensor::linear_forward<Real>(matmul_, {n, f, c}, activated, p.wo, branch);
  tensor::add<Real>(in, branch, out);
}

template <class Real>
void T5FeedForward<Real>::backward(const T5FeedForwardParameters<const Real>& p, const T5FeedForwardParameters<Real>& g,
                                   std::span<const Real> in) {
  const std::int64_t c = shape_.width;
  const std::int64_t f = shape_.feed_forward;
  const std::int64_t n = static_cast<std::int64_t>(in.size()) / c;
  const std::span<Real> d_stream = workspace_.stream_gradient.first(n * c);
  const std::span<Real> d_activated = workspace_.narrow.first(n * f);
  const std::span<Real> activated = workspace_.branch.first(n * f);
  const std::span<Real> d_u_gate = workspace_.wide_gradient.first(n * 2 * f);
  tensor::linear_backward_input<Real>(matmul_, {n, f, c}, d_stream, p.wo, d_activated);
  tensor::gated_gelu_backward<Real>(f, read(u_gate_, n * 2 * f), d_activated, d_u_gate, activated);
  tensor::linear_backward_weight<Real>(matmul_, {n, f, c}, d_stream, activated, g.wo);
  tensor::linear_backward_weight<Real>(matmul_, {n, c, 2 * f}, d_u_gate, read(normed_, n * c), g.wi);
  const std::span<Real> d_normed = workspace_.narrow.first(n * c);  // after d_activated has been used
  tensor::linear_backward_input<Real>(matmul_, {n, c, 2 * f}, d_u_gate, p.wi, d_normed);
  tensor::rms_norm_backward<Real>(d_normed, in, p.norm, read(rstd_, n), d_stream, g.norm);
}

#define TWINAX_INSTANTIATE(Real)                       \
  template struct T5AttentionParameters<Real>;         \
  template struct T5AttentionParameters<const Real>;   \
  template struct T5FeedForwardParameters<Real>;       \
  template struct T5FeedForwardParameters<const Real>; \
  template struct T5Workspace<Real>;                   \
  template struct T5PositionBias<Real>;                \
  template class T5SelfAttention<Real>;                \
  template class T5CrossAttention<Real>;               \
  template class T5FeedForward<Real>;
TWINAX_INSTANTIATE(float)
TWINAX_INSTANTIATE(double)
#undef TWINAX_INSTANTIATE

}  // namespace twinax::nn
