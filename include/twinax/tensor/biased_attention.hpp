#pragma once

#include <cstdint>
#include <span>

#include "twinax/tensor/view.hpp"

// Shapes: B sequences, Q queries and K keys of each, H heads of D channels. All are instantiated for float and double, and throw
// InvalidArgument if sizes disagree. Threads: any, on different data.
namespace twinax::tensor {

/// The sizes of an attention whose queries and keys may come from different sequences.
struct AttentionShape {
  std::int64_t batch = 0;       ///< B
  std::int64_t queries = 0;     ///< Q
  std::int64_t keys = 0;        ///< K
  std::int64_t heads = 1;       ///< H
  std::int64_t head_width = 1;  ///< D
  bool causal = false;          ///< query i sees the keys up to i; then Q = K
  /// Distances between a query and a key: Q + K - 1. Distance `query - key` stands at index query - key + K - 1.
  [[nodiscard]] std::int64_t distances() const { return queries + keys > 0 ? queries + keys - 1 : 0; }
};

/// What attention multiplies: q [B * Q, H * D], k and v [B * K, H * D]; rows may be further apart.
template <class T>
struct AttentionOperands {
  Matrix<T> q, k, v;
};

/// Elements of scratch that biased attention needs.
[[nodiscard]] std::int64_t biased_attention_scratch(const AttentionShape& shape);
/// Multi-head attention with a bias by distance: out [B * Q, H * D] = softmax(q k^T + bias) v, the scores not scaled; keeps log_sum
/// [B, H, Q]. bias [H, Q + K - 1], or empty for none.
///
/// Cost:       4 B Q K H D flops forward, 10 B Q K H D backward; half of it if causal.
/// Source:     Raffel et al.: Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, JMLR 21, 2020.
template <class Real>
void biased_attention_forward(const AttentionShape& shape, const AttentionOperands<const Real>& in, std::span<const Real> bias,
                              std::span<Real> out, std::span<Real> log_sum, std::span<Real> scratch);
/// Sets the gradients of q, k and v from d_out [B * Q, H * D], and adds that of the bias to d_bias (empty where bias is); out and log_sum
/// are forward's.
template <class Real>
void biased_attention_backward(const AttentionShape& shape, std::span<const Real> d_out, const AttentionOperands<const Real>& in,
                               std::span<const Real> bias, std::span<const Real> out, std::span<const Real> log_sum,
                               const AttentionOperands<Real>& gradients, std::span<Real> d_bias, std::span<Real> scratch);

/// How distances share biases: the first half of a direction's buckets holds one distance each, the rest grow with its logarithm up to
/// `largest_distance`; all that is farther is in the last.
struct PositionBuckets {
  std::int64_t buckets = 32;
  std::int64_t largest_distance = 128;
  bool both_ways = false;  ///< half of the buckets are for keys after the query; otherwise those are at distance 0
};
/// The bucket of a key `key - query` positions after a query. A distance that is exactly a bucket's bound belongs to the upper bucket,
/// however logarithms round.
[[nodiscard]] std::int64_t position_bucket(const PositionBuckets& buckets, std::int64_t key_minus_query);
/// bias [H, Q + K - 1] = table [buckets, H] by the bucket of each distance.
template <class Real>
void position_bias_forward(const PositionBuckets& buckets, const AttentionShape& shape, std::span<const Real> table, std::span<Real> bias);
/// Adds d_bias [H, Q + K - 1] to d_table [buckets, H].
template <class Real>
void position_bias_backward(const PositionBuckets& buckets, const AttentionShape& shape, std::span<const Real> d_bias,
                            std::span<Real> d_table);

}  // namespace twinax::tensor
