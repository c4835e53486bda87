#include "twinax/data/batcher.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/data/permutation.hpp"

namespace twinax::data {
namespace {

/// Blocks of `context` inputs that fit into a part of the text: the last one's last target must be in it too.
std::int64_t blocks_in(std::int64_t tokens, std::int64_t context) {
  return std::max<std::int64_t>(0, tokens - 1) / context;
}

}  // namespace

Share share(std::int64_t global_batch, int rank, int ranks) {
  if (global_batch < 0) throw InvalidArgument(fmt::format("sharing a global batch of {} sequences", global_batch));
  if (rank < 0 || rank >= ranks) throw InvalidArgument(fmt::format("the share of rank {} of {} ranks", rank, ranks));
  const std::int64_t least = global_batch / ranks;
  const std::int64_t longer = global_batch % ranks;  // the first ranks have one more
  const std::int64_t begin = rank * least + std::min<std::int64_t>(rank, longer);
  return {.begin = begin, .end = begin + least + (rank < longer ? 1 : 0)};
}

Batcher::Batcher(TokenFile tokens, std::int64_t context, std::uint64_t seed, double held_out_share)
    : tokens_(std::move(tokens)), context_(context), seed_(seed) {
  if (context < 1) throw InvalidArgument(fmt::format("batches with a context of {} tokens: at least 1 is needed", context));
  if (!(held_out_share >= 0 && held_out_share < 1)) {
    throw InvalidArgument(fmt::format("batches with a share of {} held out: it must be at least 0 and less than 1", held_out_share));
  }
  const std::int64_t all = tokens_.size();
  const auto held_out = std::min(all, static_cast<std::int64_t>(std::floor(static_cast<double>(all) * held_out_share)));
  held_out_begin_ = all - held_out;
  blocks_ = blocks_in(held_out_begin_, context);
  held_out_blocks_ = blocks_in(held_out, context);
  if (blocks_ == 0) {
    throw FileError(
        fmt::format("the text {} is too short: it has {} tokens, {} without the held-out part (data.held_out), and one sequence of "
                    "{} tokens, by model.context, needs {}",
                    tokens_.header().text_path, all, held_out_begin_, context, context + 1));
  }
}

std::int64_t Batcher::training_block(std::int64_t global_index) const {
  if (global_index < 0) throw InvalidArgument(fmt::format("training sequence {}: they begin at 0", global_index));
  return Permutation(blocks_, seed_, global_index / blocks_).at(global_index % blocks_);
}

void Batcher::training_sequence(std::int64_t global_index, std::span<std::int32_t> out) const {
  copy(training_block(global_index) * context_, out);
}

void Batcher::held_out_sequence(std::int64_t block, std::span<std::int32_t> out) const {
  if (block < 0 || block >= held_out_blocks_) throw InvalidArgument(fmt::format("held-out block {} of {}", block, held_out_blocks_));
  copy(held_out_begin_ + block * context_, out);
}

void Batcher::copy(std::int64_t first, std::span<std::int32_t> out) const {
  if (std::cmp_not_equal(out.size(), context_ + 1)) {
    throw InvalidArgument(fmt::format("a sequence into {} tokens, where the context of {} needs {}", out.size(), context_, context_ + 1));
  }
  tokens_.read(first, out);
}

}  // namespace twinax::data
