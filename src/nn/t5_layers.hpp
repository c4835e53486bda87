#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>

#include "twinax/nn/t5.hpp"
#include "twinax/tensor/biased_attention.hpp"
#include "twinax/tensor/buffer.hpp"
#include "twinax/tensor/matmul.hpp"

// Shapes: B sequences, T positions of the stack at hand, S of the encoder, N = B * T rows, M = B * S rows, C width, H heads, D head width,
// F feed-forward width. Every layer is a residual branch: out = in + f(norm(in)).
namespace twinax::nn {

/// The parameters of an attention, or their gradients, as views into a unit's flat run. T is Real or const Real.
template <class T>
struct T5AttentionParameters {
  /// Takes the views from the front of `flat`, in the order of t5_units.
  T5AttentionParameters(const T5Shape& shape, bool has_bias, std::span<T>& flat);
  std::span<T> qkv;      // [3HD, C]: q, k, v
  std::span<T> o;        // [C, HD]
  std::span<T> buckets;  // [32, H], or empty
  std::span<T> norm;     // [C]
  [[nodiscard]] std::span<T> q() const { return qkv.first(qkv.size() / 3); }
  [[nodiscard]] std::span<T> kv() const { return qkv.subspan(qkv.size() / 3); }
};

/// The same of a feed-forward.
template <class T>
struct T5FeedForwardParameters {
  T5FeedForwardParameters(const T5Shape& shape, std::span<T>& flat);
  std::span<T> wi;    // [2F, C]: wi_0, wi_1
  std::span<T> wo;    // [C, F]
  std::span<T> norm;  // [C]
};

/// What all layers of a model share: buffers that live within a layer, and the gradients that go from stage to stage.
template <class Real>
struct T5Workspace {
  T5Workspace(const T5Shape& shape, std::int64_t max_sequences, const ModelMemory& its_memory);
  ModelMemory memory;                     ///< for the layers' own
  tensor::Buffer<Real> stream_gradient;   ///< [N, C] of the stack at hand
  tensor::Buffer<Real> encoder_gradient;  ///< [M, C] of the encoder's normed output
  tensor::Buffer<Real> narrow;            ///< [N, max(C, HD, F)]
  tensor::Buffer<Real> branch;            ///< [N, max(C, HD, F)]
  tensor::Buffer<Real> wide_gradient;     ///< [N, max(3HD, 2F)]
  tensor::Buffer<Real> attention;         ///< attention's scratch
};

/// The biases of one stack: what its first block spreads, and what all its blocks add up.
template <class Real>
struct T5PositionBias {
  T5PositionBias(const T5Shape& shape, bool is_decoder, std::pmr::memory_resource* memory);
  tensor::PositionBuckets buckets;
  tensor::Buffer<Real> values, gradients;  ///< [H, 2T - 1]
};

/// Self-attention with the stack's position biases; causal in the decoder.
template <class Real>
class T5SelfAttention {
 public:
  T5SelfAttention(const T5Shape& shape, bool is_decoder, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace);
  /// out [N, C] of in [N, C], which stays valid until backward.
  void forward(std::int64_t batch, std::int64_t length, const T5AttentionParameters<const Real>& parameters, T5PositionBias<Real>& bias,
               std::span<const Real> in, std::span<Real> out);
  /// Turns the workspace's stream gradient of `out` into that of `in`, and adds to gradients.
  void backward(std::int64_t batch, std::int64_t length, const T5AttentionParameters<const Real>& parameters,
                const T5AttentionParameters<Real>& gradients, T5PositionBias<Real>& bias, std::span<const Real> in);

 private:
  [[nodiscard]] tensor::AttentionShape attention_shape(std::int64_t batch, std::int64_t length) const;
  T5Shape shape_;
  bool is_decoder_;
  tensor::Matmul& matmul_;
  T5Workspace<Real>& workspace_;
  tensor::Buffer<Real> normed_, rstd_;             // [N, C], [N]
  tensor::Buffer<Real> qkv_, log_sum_, attended_;  // [N, 3HD], [N, H], [N, HD]
};

/// The decoder's attention to the encoder's output.
template <class Real>
class T5CrossAttention {
 public:
  T5CrossAttention(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace);
  /// out [N, C] of in [N, C] and encoded [M, C], which stay valid until backward.
  void forward(const tensor::AttentionShape& attention, const T5AttentionParameters<const Real>& parameters, std::span<const Real> in,
               std::span<const Real> encoded, std::span<Real> out);
  /// As T5SelfAttention's; adds to the workspace's encoder gradient.
  void backward(const tensor::AttentionShape& attention, const T5AttentionParameters<const Real>& parameters,
                const T5AttentionParameters<Real>& gradients, std::span<const Real> in, std::span<const Real> encoded);

 private:
  T5Shape shape_;
  tensor::Matmul& matmul_;
  T5Workspace<Real>& workspace_;
  tensor::Buffer<Real> normed_, rstd_;                // [N, C], [N]
  tensor::Buffer<Real> q_, kv_, log_sum_, attended_;  // [N, HD], [M, 2HD], [N, H], [N, HD]
};

/// wo (gelu(wi_0 x) * wi_1 x).
template <class Real>
class T5FeedForward {
 public:
  T5FeedForward(const T5Shape& shape, std::int64_t max_rows, tensor::Matmul& matmul, T5Workspace<Real>& workspace);
  /// out [N, C] of in [N, C], which stays valid until backward.
  void forward(const T5FeedForwardParameters<const Real>& parameters, std::span<const Real> in, std::span<Real> out);
  /// As T5SelfAttention's.
  void backward(const T5FeedForwardParameters<const Real>& parameters, const T5FeedForwardParameters<Real>& gradients,
                std::span<const Real> in);

 private:
  T5Shape shape_;
  tensor::Matmul& matmul_;
  T5Workspace<Real>& workspace_;
  tensor::Buffer<Real> normed_, rstd_;  // [N, C], [N]
  tensor::Buffer<Real> u_gate_;         // [N, 2F]
};

}  // namespace twinax::nn
