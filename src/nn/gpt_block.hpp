#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>

#include "nn/gpt_workspace.hpp"

namespace twinax::nn {

/// The parameters of a block, or their gradients, as views into its unit's flat run. T is Real or const Real.
template <class T>
struct BlockParameters {
  /// The views, in the order of gpt_units.
  BlockParameters(std::int64_t width, std::span<T> flat);
  std::span<T> ln_1_weight, ln_1_bias;            // [C]
  std::span<T> attn_weight, attn_bias;            // [3C, C], [3C]
  std::span<T> attn_proj_weight, attn_proj_bias;  // [C, C], [C]
  std::span<T> ln_2_weight, ln_2_bias;            // [C]
  std::span<T> fc_weight, fc_bias;                // [4C, C], [4C]
  std::span<T> fc_proj_weight, fc_proj_bias;      // [C, 4C], [C]
};

/// What a block's backward needs of its forward, besides its input.
template <class Real>
struct Kept {
  Kept(const GptShape& shape, std::int64_t max_sequences, std::pmr::memory_resource* memory);
  tensor::Buffer<Real> normed_1, mean_1, rstd_1;  // [N, C], [N], [N]
  tensor::Buffer<Real> qkv, log_sum, attended;    // [N, 3C], [N, H], [N, C]
  tensor::Buffer<Real> middle;                    // [N, C], between the two residual branches
  tensor::Buffer<Real> normed_2, mean_2, rstd_2;  // [N, C], [N], [N]
  tensor::Buffer<Real> before_gelu;               // [N, 4C]
};

/// One transformer block. What it keeps and its workspace outlive it, and may be other blocks' too.
template <class Real>
class Block {
 public:
  Block(const GptShape& shape, tensor::Matmul& matmul, Workspace<Real>& workspace, Kept<Real>& kept);

  /// out [N, C] = the block of in [N, C]; `in` stays valid until backward.
  void forward(const Running& running, const BlockParameters<const Real>& parameters, std::span<const Real> in, std::span<Real> out);
  /// Turns the workspace's stream gradient of `out` into that of `in`, and adds to gradients.
  void backward(const Running& running, const BlockParameters<const Real>& parameters, const BlockParameters<Real>& gradients,
                std::span<const Real> in);

 private:
  void mlp_backward(const Running& running, const BlockParameters<const Real>& parameters, const BlockParameters<Real>& gradients);
  void attention_backward(const Running& running, const BlockParameters<const Real>& parameters, const BlockParameters<Real>& gradients,
                          std::span<const Real> in);

  std::int64_t width_;
  std::int64_t heads_;
  tensor::Matmul& matmul_;
  Workspace<Real>& workspace_;
  Kept<Real>& kept_;
};

}  // namespace twinax::nn
