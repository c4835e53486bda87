#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>

#include "twinax/tensor/buffer.hpp"
#include "twinax/tensor/matmul.hpp"

// Shapes: N rows, C width, V vocabulary.
namespace twinax::nn {

/// The logits of normed rows and their cross-entropy. The logits are computed by blocks of rows, and turned into their gradients while they
/// are in the cache.
template <class Real>
class LogitLoss {
 public:
  /// For up to `max_rows` rows, from `memory` (null: the system).
  LogitLoss(std::int64_t width, std::int64_t vocabulary, std::int64_t max_rows, tensor::Matmul& matmul, std::pmr::memory_resource* memory);

  /// The losses of normed [N, C] with head [V, C] and targets [N].
  void forward(std::span<const Real> normed, std::span<const Real> head, std::span<const std::int32_t> targets);
  /// Sets d_normed [N, C] to `scale` times the gradient of the summed loss, and adds that by the head to d_head [V, C]. scratch [N, C].
  void backward(std::span<const Real> normed, std::span<const Real> head, Real scale, std::span<Real> d_head, std::span<Real> scratch,
                std::span<Real> d_normed);
  /// The sum of the losses of the last forward.
  [[nodiscard]] double loss_sum() const { return loss_sum_; }

  /// Rows of logits computed at once.
  static constexpr std::int64_t kRows = 256;

 private:
  std::int64_t width_;
  std::int64_t vocabulary_;
  tensor::Matmul& matmul_;
  tensor::Buffer<Real> logits_, normalizers_, losses_;  // [N, V], [N], [N]
  double loss_sum_ = 0;
};

}  // namespace twinax::nn
