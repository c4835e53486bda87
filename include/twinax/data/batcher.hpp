#pragma once

#include <cstdint>
#include <span>

#include "twinax/data/token_file.hpp"

namespace twinax::data {

/// The sequences [begin, end) of a global batch that one rank computes.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// How many they are; may be 0.
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const Share&) const = default;
};

/// Cuts a global batch into shares in rank order, whose sizes differ by one at most.
///
/// Throws: InvalidArgument unless 0 <= rank < ranks and global_batch >= 0.
[[nodiscard]] Share share(std::int64_t global_batch, int rank, int ranks);

/// Says which tokens each sequence of a training run holds: a pure function of (seed, index), the same for every number of ranks.
///
/// Block i is the tokens [i * context, i * context + context]: `context` inputs, and the token after each as its target. The end of the
/// text is held out: no token of it is in a training block. What is left over at the end of either part (less than a block) is not used.
/// Each epoch has every training block once, in an order of its own; a step that begins in one epoch may end in the next.
///
/// Threads: any.
class Batcher {
 public:
  /// `held_out_share` of the tokens, in [0, 1), are kept from training.
  ///
  /// Throws: InvalidArgument about the arguments; FileError if the part to train on is too short for one block.
  Batcher(TokenFile tokens, std::int64_t context, std::uint64_t seed, double held_out_share);

  /// Blocks that are trained on: the sequences of an epoch.
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Blocks that are kept for evaluation; 0 if the held-out part is shorter than one.
  [[nodiscard]] std::int64_t held_out_blocks() const { return held_out_blocks_; }
  /// Inputs of a sequence.
  [[nodiscard]] std::int64_t context() const { return context_; }

  /// The training block that a sequence reads. `global_index` = step * global_batch + its place in the global batch, step from 0.
  [[nodiscard]] std::int64_t training_block(std::int64_t global_index) const;
  /// Copies that block's tokens.
  ///
  /// Shapes: out [context + 1].
  void training_sequence(std::int64_t global_index, std::span<std::int32_t> out) const;
  /// Copies held-out block `block`'s tokens.
  ///
  /// Shapes: out [context + 1].
  void held_out_sequence(std::int64_t block, std::span<std::int32_t> out) const;

 private:
  void copy(std::int64_t first, std::span<std::int32_t> out) const;
  TokenFile tokens_;
  std::int64_t context_;
  std::uint64_t seed_;
  std::int64_t held_out_begin_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t held_out_blocks_ = 0;
};

}  // namespace twinax::data
