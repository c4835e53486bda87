#pragma once

#include <cstdint>
#include <string_view>

namespace twinax::fsdp {

/// How parameters and optimizer state lie over the ranks.
///
/// Source: Rajbhandari et al., ZeRO, SC20 (`Full` is its stage 3); Zhao et al., PyTorch FSDP, VLDB 2023.
enum class Strategy : std::uint8_t {
  Full,      ///< parameters, gradients and optimizer state sharded; gathered before forward and before backward
  Replicate  ///< every rank holds all; gradients are all-reduced
};

/// Reads "full" or "replicate". Throws InvalidArgument.
[[nodiscard]] Strategy parse_strategy(std::string_view text);

}  // namespace twinax::fsdp
