#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "twinax/nn/model.hpp"
#include "twinax/tensor/biased_attention.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::nn {

/// What makes a T5 (version 1.1): an encoder and a decoder of pre-norm blocks, RMS norms, gated GELU (tanh form), a bias by position in
/// each stack instead of position embeddings, unscaled attention, no other biases, a head of its own, no dropout.
///
/// Source: Raffel et al., JMLR 21, 2020; the changes of version 1.1 as released with T5's code.
struct T5Shape {
  std::int64_t layers = 1;  ///< of the encoder
  std::int64_t decoder_layers = 1;
  std::int64_t width = 64;  ///< d_model
  std::int64_t heads = 1;
  std::int64_t head_width = 64;     ///< d_kv; heads * head_width need not be the width
  std::int64_t feed_forward = 128;  ///< d_ff
  std::int64_t context = 64;        ///< the longest input
  std::int64_t targets = 64;        ///< the most targets of a sequence
  std::int64_t vocabulary = 256;
};

/// How a stack's distances share biases: 32 buckets up to a distance of 128.
[[nodiscard]] constexpr tensor::PositionBuckets t5_buckets(bool is_decoder) {
  return {.buckets = 32, .largest_distance = 128, .both_ways = !is_decoder};
}

/// The units: 0 "root" (token embedding, both final norms, head), then the encoder's blocks, then the decoder's. Names and shapes are
/// Hugging Face's, matrices as [outputs, inputs]. Initial values are normal: 1 for embeddings, 1 / sqrt(inputs) for matrices, queries
/// smaller by 1 / sqrt(head_width), since scores are not scaled. Throws InvalidArgument for a shape that can't be.
[[nodiscard]] std::vector<UnitSpec> t5_units(const T5Shape& shape);

/// Floating-point operations of a stage's forward for one sequence of `context` inputs and `targets` targets.
[[nodiscard]] Flops t5_forward_flops(const T5Shape& shape, std::size_t stage);
/// The same of a sequence's whole training step: forward, and backward at twice that, without anything that is computed again.
[[nodiscard]] Flops t5_step_flops(const T5Shape& shape);

/// A T5 for up to `max_sequences` sequences at once; everything it needs is allocated here, from `memory`. `matmul` is borrowed. Batches
/// have rows of inputs, then targets (TokenBatch::targets); the decoder reads id 0, then all targets but the last.
///
/// The root's stages are "embed", "bridge" (the encoder's final norm, the decoder's embedding) and "head". A stack's position biases belong
/// to its first block: that block's forward spreads them for its stack, and its backward collects what the other blocks have added.
///
/// Flops are counted as 2 m n k for each matrix product; attention's scores and sums in full, causal or not. A stage's backward is twice
/// its forward.
///
/// With `checkpoints` a block keeps its input alone: what its backward needs besides is one set for each stack, so that a block must have
/// been the last of its stack to run forward before it runs backward.
template <class Real>
[[nodiscard]] std::unique_ptr<Model<Real>> make_t5(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul,
                                                   const ModelMemory& memory = {}, bool checkpoints = false);

}  // namespace twinax::nn
