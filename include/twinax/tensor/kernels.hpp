#pragma once

#include <cstdint>
#include <span>

#include "twinax/base/units.hpp"

// Shapes: B sequences, T tokens of each, N = B * T rows, C channels, H heads, D = C / H, K channels of a linear's output, V vocabulary.
// Everything is row-major without gaps. "Adds to" means +=; other outputs are overwritten. N = 0 is allowed everywhere. All are
// instantiated for float and double, and throw InvalidArgument if sizes disagree. Threads: any, on different data.
namespace twinax::tensor {

/// The shape of a batch that kernels with positions need.
struct BatchShape {
  std::int64_t batch = 0;   ///< B
  std::int64_t length = 0;  ///< T
  std::int64_t width = 0;   ///< C
};

/// out [B, T, C] = token_table [V, C] at tokens [B, T] + position_table [>= T, C] at the position. Tokens are not checked here.
template <class Real>
void embedding_forward(const BatchShape& shape, std::span<const std::int32_t> tokens, std::span<const Real> token_table,
                       std::span<const Real> position_table, std::span<Real> out);
/// Adds d_out [B, T, C] to d_token_table [V, C] and d_position_table [>= T, C].
template <class Real>
void embedding_backward(const BatchShape& shape, std::span<const std::int32_t> tokens, std::span<const Real> d_out,
                        std::span<Real> d_token_table, std::span<Real> d_position_table);

/// out [N, C] = token_table [V, C] at tokens [N], without positions. Tokens are not checked here.
template <class Real>
void lookup_forward(std::span<const std::int32_t> tokens, std::int64_t width, std::span<const Real> token_table, std::span<Real> out);
/// Adds d_out [N, C] to the rows of d_token_table [V, C] that tokens [N] name.
template <class Real>
void lookup_backward(std::span<const std::int32_t> tokens, std::int64_t width, std::span<const Real> d_out, std::span<Real> d_token_table);

/// y [N, C] = (x [N, C] - mean) * rstd * weight [C] + bias [C] by row; keeps mean [N] and rstd [N] = 1 / sqrt(variance + 1e-5).
template <class Real>
void layer_norm_forward(std::span<const Real> x, std::span<const Real> weight, std::span<const Real> bias, std::span<Real> y,
                        std::span<Real> mean, std::span<Real> rstd);
/// Adds to d_x [N, C], d_weight [C], d_bias [C] from d_y [N, C].
template <class Real>
void layer_norm_backward(std::span<const Real> d_y, std::span<const Real> x, std::span<const Real> weight, std::span<const Real> mean,
                         std::span<const Real> rstd, std::span<Real> d_x, std::span<Real> d_weight, std::span<Real> d_bias);

/// y [N, C] = x [N, C] * rstd * weight [C] by row; keeps rstd [N] = 1 / sqrt(mean of x^2 + 1e-6).
///
/// Source:     Zhang, Sennrich: Root Mean Square Layer Normalization, NeurIPS 2019.
template <class Real>
void rms_norm_forward(std::span<const Real> x, std::span<const Real> weight, std::span<Real> y, std::span<Real> rstd);
/// Adds to d_x [N, C] and d_weight [C] from d_y [N, C].
template <class Real>
void rms_norm_backward(std::span<const Real> d_y, std::span<const Real> x, std::span<const Real> weight, std::span<const Real> rstd,
                       std::span<Real> d_x, std::span<Real> d_weight);

/// Adds bias [K] to every row of y [N, K].
template <class Real>
void add_bias(std::span<Real> y, std::span<const Real> bias);
/// Adds the rows of d_y [N, K] to d_bias [K].
template <class Real>
void add_bias_gradient(std::span<const Real> d_y, std::span<Real> d_bias);
/// out [N, C] = x [N, C] + delta [N, C] + bias [C]: the end of a residual branch.
template <class Real>
void add_residual(std::span<const Real> x, std::span<const Real> delta, std::span<const Real> bias, std::span<Real> out);

/// Adds bias [K] to u [N, K] in place and writes g [N, K] = gelu(u), the tanh form: u / (1 + exp(-2 sqrt(2/pi) (u + 0.044715 u^3))).
template <class Real>
void bias_gelu_forward(std::span<Real> u, std::span<const Real> bias, std::span<Real> g);
/// Turns d_g [N, K] into the gradient of u, in place, adds its rows to d_bias [K], and writes g [N, K] = gelu(u) again, which forward need
/// not keep.
template <class Real>
void bias_gelu_backward(std::span<const Real> u, std::span<Real> d_g, std::span<Real> g, std::span<Real> d_bias);

/// out [N, K] = gelu(u) * gate, the tanh form, of u_gate [N, 2K]: in each row u [K], then gate [K].
///
/// Source:     Shazeer: GLU Variants Improve Transformer, 2020.
template <class Real>
void gated_gelu_forward(std::int64_t width, std::span<const Real> u_gate, std::span<Real> out);
/// Sets d_u_gate [N, 2K] from d_out [N, K], and writes out [N, K] again, which forward need not keep.
template <class Real>
void gated_gelu_backward(std::int64_t width, std::span<const Real> u_gate, std::span<const Real> d_out, std::span<Real> d_u_gate,
                         std::span<Real> out);

/// Elements of scratch that attention needs for sequences of up to `length` tokens and heads of `head_width` channels.
[[nodiscard]] std::int64_t attention_scratch(std::int64_t length, std::int64_t head_width);
/// Causal multi-head attention: qkv [B, T, 3C] (q, k, v one after another) to out [B, T, C]; keeps log_sum [B, H, T], the logarithm of each
/// row's softmax denominator. Scores are scaled by 1 / sqrt(D).
///
/// Cost:       4 B T^2 C / 2 flops forward; backward computes the scores again from log_sum and takes 10 B T^2 C / 2.
/// Source:     Dao, Fu, Ermon, Rudra, Re: FlashAttention, NeurIPS 2022 (keeping the row sums only).
template <class Real>
void attention_forward(const BatchShape& shape, std::int64_t heads, std::span<const Real> qkv, std::span<Real> out, std::span<Real> log_sum,
                       std::span<Real> scratch);
/// d_qkv [B, T, 3C] from d_out [B, T, C]; out and log_sum are forward's.
template <class Real>
void attention_backward(const BatchShape& shape, std::int64_t heads, std::span<const Real> d_out, std::span<const Real> qkv,
                        std::span<const Real> out, std::span<const Real> log_sum, std::span<Real> d_qkv, std::span<Real> scratch);

/// losses [N] = -log softmax(logits [N, V])[targets [N]] in nats, and logits become normalizers [N] times the gradient of the row's loss:
/// exp(logit - largest), less the normalizer at the target. Dividing rows of N x V is left to the N x C matrices that they are multiplied
/// with.
template <class Real>
void softmax_cross_entropy(std::span<Real> logits, std::span<const std::int32_t> targets, std::span<Real> losses,
                           std::span<Real> normalizers);
/// out [N, C] = x [N, C] * factor / divisors [N], by row.
template <class Real>
void divide_rows(std::span<const Real> x, std::span<const Real> divisors, Real factor, std::span<Real> out);

/// The settings of one AdamW update.
struct AdamW {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double gradient_scale = 1;  ///< multiplies gradients first (clipping)
  std::int64_t step = 1;      ///< the update's number, from 1
};
/// Elements [begin, end).
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};
/// One AdamW update of parameters [n] with their moments [n]; weight decay (decoupled) applies in `decays` only: ascending, disjoint,
/// inside [0, n).
///
/// Source:     Loshchilov, Hutter: Decoupled Weight Decay Regularization, ICLR 2019; bias correction as in PyTorch.
template <class Real>
void adamw_update(const AdamW& settings, std::span<const ElementRange> decays, std::span<const Real> gradients, std::span<Real> parameters,
                  std::span<Real> first_moments, std::span<Real> second_moments);

/// The sum of squares, in double precision.
template <class Real>
[[nodiscard]] double squared_norm(std::span<const Real> values);
/// values *= factor.
template <class Real>
void scale(std::span<Real> values, Real factor);
/// out [n] = a [n] + b [n]; out may be either.
template <class Real>
void add(std::span<const Real> a, std::span<const Real> b, std::span<Real> out);

}  // namespace twinax::tensor
