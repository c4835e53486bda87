#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/step/graph.hpp"

namespace twinax::fsdp {

struct StepPlan;

/// What bounds the gathered units and, apart from them, the gradients that wait for their reduction. The root is outside all of it.
///
/// Source: Zhao et al., PyTorch FSDP, VLDB 2023 (`Window` of 2); its first version of 2022 was `Block`.
enum class Limiter : std::uint8_t {
  None,     ///< the issuing thread runs ahead as far as it gets
  Window,   ///< one more when one is released: the gather of unit i waits for the release of unit i - limit
  Block,    ///< when `limit` are out, the next waits until all are released
  Bytes,    ///< as a window, of bytes instead of units
  PingPong  ///< as a window, in `limit` buffers that are made once and used in turn
};

/// Reads "none", "window", "block", "bytes" or "pingpong". Throws InvalidArgument.
[[nodiscard]] Limiter parse_limiter(std::string_view text);
/// Reads "host" or "lane": who waits. Throws InvalidArgument.
[[nodiscard]] step::WaitSide parse_limiter_side(std::string_view text);

/// Throws InvalidArgument if a plan's limiter could never let one of its units be gathered.
void check_limiter(const StepPlan& plan);

/// Whether the gather of group `next` of uses is issued before the uses of group `now`: as far as the plan's prefetch goes and the limiter
/// is sure to have room, so that the issuing thread never waits for a release that it has yet to issue. `units` are the units of the
/// groups.
[[nodiscard]] bool is_gathered_ahead(const StepPlan& plan, std::span<const int> units, int now, int next);

/// What a limiter's side is in a graph.
struct LimitedSide {
  std::string pool;
  std::string slot;          ///< with a number behind it; empty: no memory is made once, not even for ping-pong
  std::int64_t buffers = 0;  ///< of blocks, that a step has one after the other: more slots would never be used
};

/// One of a limiter's two sides while a graph is written: the credits and slots of gathered units, or those of gradients.
class LimitedBuffers {
 public:
  /// Adds the pools and slots to a graph. Unless `is_limited` units are counted alone, and each has memory of its own.
  LimitedBuffers(const StepPlan& plan, step::StepGraph& graph, const LimitedSide& side, bool is_limited);
  /// The pool that counts units, without a bound where bytes are bounded.
  [[nodiscard]] step::PoolId units() const { return units_; }
  /// What a unit's op takes, and another gives back.
  [[nodiscard]] std::vector<step::CreditUse> credits(int unit) const;
  /// The slot of the next buffer of the unit, none without ping-pong.
  [[nodiscard]] std::optional<step::SlotId> next_slot(int unit);

 private:
  const StepPlan& plan_;
  step::PoolId units_;
  std::optional<step::PoolId> bytes_;
  std::optional<step::SlotId> root_;
  std::vector<step::SlotId> slots_;
  std::size_t next_ = 0;
};

}  // namespace twinax::fsdp
