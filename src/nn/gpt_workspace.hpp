#pragma once

#include <cstdint>
#include <span>

#include "twinax/nn/gpt.hpp"
#include "twinax/tensor/buffer.hpp"
#include "twinax/tensor/kernels.hpp"
#include "twinax/tensor/linear.hpp"

// Shapes: B sequences, T tokens, N = B * T rows, C width, H heads, V vocabulary.
namespace twinax::nn {

/// The batch being computed, in the form the stages need.
struct Running {
  tensor::BatchShape batch;               ///< B, T, C; all 0 sequences at first
  std::span<const std::int32_t> inputs;   ///< [N]
  std::span<const std::int32_t> targets;  ///< [N]
  /// N.
  [[nodiscard]] std::int64_t rows() const { return batch.batch * batch.length; }
};

/// What all stages of a model share: buffers that live within a stage, and the two streams that go from stage to stage.
template <class Real>
struct Workspace {
  Workspace(const GptShape& shape, std::int64_t max_sequences, const ModelMemory& its_memory)
      : memory(its_memory),
        stream_gradient(max_sequences * shape.context * shape.width, memory.workspaces),
        narrow(max_sequences * shape.context * shape.width, memory.workspaces),
        wide(max_sequences * shape.context * 4 * shape.width, memory.workspaces),
        wide_gradient(max_sequences * shape.context * 4 * shape.width, memory.workspaces),
        attention(tensor::attention_scratch(shape.context, shape.width / shape.heads), memory.workspaces) {}
  ModelMemory memory;                    ///< for the stages' own
  tensor::Buffer<Real> stream_gradient;  ///< [N, C], the gradient of the residual stream, from stage to stage
  tensor::Buffer<Real> narrow;           ///< [N, C]
  tensor::Buffer<Real> wide;             ///< [N, 4C]
  tensor::Buffer<Real> wide_gradient;    ///< [N, 4C]
  tensor::Buffer<Real> attention;        ///< attention's scratch
};

}  // namespace twinax::nn
