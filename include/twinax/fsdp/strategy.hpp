#pragma once

#include <cstdint>
#include <string_view>

namespace twinax::fsdp {

/// How parameters and optimizer state lie over the ranks.
///
/// Source: Rajbhandari et al., ZeRO, SC20 (`Full` is its stage 3, `Keep` its stage 2); Zhao et al., PyTorch FSDP, VLDB 2023.
enum class Strategy : std::uint8_t {
  Full,      ///< parameters, gradients and optimizer state sharded; gathered before forward and before backward
  Keep,      ///< sharded like Full; gathered once a step, before the first forward, and kept to the last backward
  Hybrid,    ///< sharded like Full inside each node and replicated between nodes, where the shards' gradients are all-reduced
  Replicate  ///< every rank holds all; gradients are all-reduced
};

/// What micro-batches do with the gradients of sharded blocks.
enum class Accumulate : std::uint8_t {
  Reduce,  ///< each micro-batch's are reduced, so that only shards persist
  Local    ///< they stay whole on every rank and are reduced once, after the last
};

/// When the parameters that the next backward needs are gathered.
enum class BackwardPrefetch : std::uint8_t {
  Pre,  ///< before the current unit's gradients are reduced
  Post  ///< after
};

/// Reads "full", "keep", "hybrid" or "replicate". Throws InvalidArgument.
[[nodiscard]] Strategy parse_strategy(std::string_view text);
/// The name that parse_strategy reads.
[[nodiscard]] const char* to_text(Strategy strategy);
/// Reads "reduce" or "local". Throws InvalidArgument.
[[nodiscard]] Accumulate parse_accumulate(std::string_view text);
/// Reads "pre" or "post". Throws InvalidArgument.
[[nodiscard]] BackwardPrefetch parse_backward_prefetch(std::string_view text);

}  // namespace twinax::fsdp
