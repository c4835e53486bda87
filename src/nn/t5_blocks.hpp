#pragma once

#include <cstdint>
#include <span>

#include "nn/t5_layers.hpp"

// Letters as in t5_layers.hpp.
namespace twinax::nn {

/// The batch being computed, in the form the stages need.
struct T5Running {
  std::int64_t batch = 0;    ///< B
  std::int64_t length = 0;   ///< S
  std::int64_t targets = 0;  ///< T
  [[nodiscard]] std::int64_t encoder_rows() const { return batch * length; }
  [[nodiscard]] std::int64_t decoder_rows() const { return batch * targets; }
};

/// Blocks of the encoder, with what backward needs of the forward of one of them: the last that has run.
template <class Real>
class T5EncoderBlock {
 public:
  T5EncoderBlock(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace,
                 T5PositionBias<Real>& bias);
  /// out [N, C] of in [N, C], which stays valid until backward; parameters are the unit's flat run. The first block of a stack has the
  /// biases.
  void forward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<const Real> in, std::span<Real> out);
  /// Turns the workspace's stream gradient of `out` into that of `in`, and adds to gradients.
  void backward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<Real> gradients,
                std::span<const Real> in);

 private:
  T5Shape shape_;
  T5PositionBias<Real>& bias_;
  T5SelfAttention<Real> attention_;
  T5FeedForward<Real> feed_forward_;
  tensor::Buffer<Real> middle_;  // [N, C], between the two branches
};

/// The same of the decoder.
template <class Real>
class T5DecoderBlock {
 public:
  T5DecoderBlock(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace,
                 T5PositionBias<Real>& bias);
  /// As T5EncoderBlock's; encoded [M, C] stays valid until backward.
  void forward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<const Real> in,
               std::span<const Real> encoded, std::span<Real> out);
  /// As T5EncoderBlock's; adds to the workspace's encoder gradient.
  void backward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<Real> gradients,
                std::span<const Real> in, std::span<const Real> encoded);

 private:
  [[nodiscard]] tensor::AttentionShape cross_shape(const T5Running& running) const;
  T5Shape shape_;
  T5PositionBias<Real>& bias_;
  T5SelfAttention<Real> attention_;
  T5CrossAttention<Real> cross_;
  T5FeedForward<Real> feed_forward_;
  tensor::Buffer<Real> after_attention_, after_cross_;  // [N, C] each, between the branches
};

}  // namespace twinax::nn
