#pragma once

#include <cstdint>
#include <span>

#include "nn/gpt_workspace.hpp"
#include "nn/logit_loss.hpp"

namespace twinax::nn {

/// The parameters of the root unit, or their gradients, as views into its flat run. T is Real or const Real.
template <class T>
struct RootParameters {
  /// The views, in the order of gpt_units; the head is wte again if tied.
  RootParameters(const GptShape& shape, std::span<T> flat);
  std::span<T> wte, wpe;                // [V, C], [context, C]
  std::span<T> ln_f_weight, ln_f_bias;  // [C]
  std::span<T> head;                    // [V, C]
};

/// The last stage: norm, logits, loss.
template <class Real>
class Head {
 public:
  Head(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, Workspace<Real>& workspace);

  /// The losses of in [N, C]; `in` stays valid until backward.
  void forward(const Running& running, const RootParameters<const Real>& parameters, std::span<const Real> in);
  /// Writes `scale` times the gradient of the summed loss by `in` to the workspace's stream gradient, and adds to gradients.
  void backward(const Running& running, const RootParameters<const Real>& parameters, const RootParameters<Real>& gradients,
                std::span<const Real> in, Real scale);
  /// The sum of the losses of the last forward.
  [[nodiscard]] double loss_sum() const { return loss_.loss_sum(); }

  /// Rows of logits computed at once.
  static constexpr std::int64_t kRows = LogitLoss<Real>::kRows;

 private:
  std::int64_t width_;
  Workspace<Real>& workspace_;
  tensor::Buffer<Real> normed_, mean_, rstd_;  // [N, C], [N], [N]
  LogitLoss<Real> loss_;
};

}  // namespace twinax::nn
