#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "twinax/nn/model.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::nn {

/// What makes a GPT: pre-norm blocks, learned positions, GELU (tanh form), biases everywhere, as GPT-2.
struct GptShape {
  std::int64_t layers = 1;
  std::int64_t width = 64;
  std::int64_t heads = 1;     ///< divides width
  std::int64_t context = 64;  ///< the longest sequence
  std::int64_t vocabulary = 256;
  bool tied = true;  ///< whether the head is the token embedding; otherwise it is lm_head.weight
};

/// The units: 0 "root" (wte, wpe, ln_f, and lm_head unless tied), then one a block. Names, shapes and initial values are GPT-2's: normal
/// of 0.02, for the projections into the residual stream 0.02 / sqrt(2 layers). Throws InvalidArgument for a shape that can't be.
[[nodiscard]] std::vector<UnitSpec> gpt_units(const GptShape& shape);

/// The matrix products of a step, each with the number of times it is computed; what Matmul::prepare takes.
struct GptProduct {
  tensor::Product product;
  std::int64_t times = 0;
};
/// The products of one forward and backward of `sequences` sequences of `length` tokens (attention's are not among them: they never leave
/// its kernel).
[[nodiscard]] std::vector<GptProduct> gpt_products(const GptShape& shape, tensor::Precision precision, std::int64_t sequences,
                                                   std::int64_t length);
/// Chooses the backends of all these products now (Matmul::prepare).
void prepare_gpt(const GptShape& shape, tensor::Precision precision, std::int64_t sequences, std::int64_t length, tensor::Matmul& matmul);

/// Floating-point operations of a stage's forward for one sequence of `context` tokens.
[[nodiscard]] Flops gpt_forward_flops(const GptShape& shape, std::size_t stage);
/// The same of a sequence's whole training step: forward, and backward at twice that, without anything that is computed again.
[[nodiscard]] Flops gpt_step_flops(const GptShape& shape);

/// A GPT for up to `max_sequences` sequences at once; everything it needs is allocated here, from `memory`. `matmul` is borrowed.
///
/// Flops are counted as 2 m n k for each matrix product, attention's scores and sums at half (causal): a stage's forward is
/// 2 x matrix elements a token + 2 T C a token and layer, its backward twice that. Real is float or double.
///
/// With `checkpoints` a block keeps its input alone: what its backward needs besides is one set for all blocks, so that a block must have
/// been the last to run forward before it runs backward.
template <class Real>
[[nodiscard]] std::unique_ptr<Model<Real>> make_gpt(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul,
                                                    const ModelMemory& memory = {}, bool checkpoints = false);

}  // namespace twinax::nn
