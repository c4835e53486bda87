#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "twinax/nn/model.hpp"

namespace twinax::fsdp {

/// One use of a unit by the compute lane, in program order.
struct Use {
  std::size_t stage = 0;
  int unit = 0;
  bool backward = false;
  std::int64_t micro_batch = 0;
  int group = -1;         ///< uses that share one gather, counted from 0; the root's uses have the group that runs around them
  bool gathers = false;   ///< its parameters are gathered for it
  bool releases = false;  ///< they are released after it
};

/// The uses of one training step: for each micro-batch all stages forward, then all in reverse. Units other than the root are gathered
/// before each use and released after it, except that two uses in a row of one unit (the last block: forward, then backward) share one
/// gather. The root (unit 0) is gathered once, before its first use, and released after its last; so is every unit if `keeps`.
[[nodiscard]] std::vector<Use> training_uses(const std::vector<nn::Stage>& stages, std::int64_t micro_batches, bool keeps = false);

/// The uses of a forward pass alone, by the same rules.
[[nodiscard]] std::vector<Use> evaluation_uses(const std::vector<nn::Stage>& stages);

/// How far gathers may really be issued ahead: a window of `limit` holds the unit in use and limit - 1 more. `limit` 0 = unlimited.
[[nodiscard]] std::int64_t effective_prefetch(std::int64_t prefetch, std::int64_t limit);

}  // namespace twinax::fsdp
