#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::step {

/// What an op does; part of the record (`/timeline/op`).
enum class OpKind : std::uint8_t { Gather, Reduce, Forward, Backward, Optimize, Exchange };

/// The in-order queues. On a CPU each is a thread.
enum class LaneKind : std::uint8_t { Compute, Collective, Service };
inline constexpr std::size_t kLanes = 3;

/// "gather", "compute", ... as shown in timelines and hang reports.
[[nodiscard]] const char* name_of(OpKind kind);
[[nodiscard]] const char* name_of(LaneKind lane);

/// Indices into a StepGraph.
struct OpId {
  std::size_t index = 0;
  friend auto operator<=>(OpId, OpId) = default;
};
struct PoolId {
  std::size_t index = 0;
  friend auto operator<=>(PoolId, PoolId) = default;
};
struct BufferId {
  std::size_t index = 0;
  friend auto operator<=>(BufferId, BufferId) = default;
};
struct SlotId {
  std::size_t index = 0;
  friend auto operator<=>(SlotId, SlotId) = default;
};

/// An amount of a pool's credits.
struct CreditUse {
  PoolId pool;
  std::int64_t amount = 1;
};

/// What a body is given: where it is, and its buffers.
class OpContext {
 public:
  OpContext() = default;
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;
  virtual ~OpContext() = default;
  /// The training step that is being run.
  [[nodiscard]] virtual std::int64_t step() const = 0;
  /// A buffer that this op produces or uses; 64-byte aligned. Its content when produced is undefined.
  [[nodiscard]] virtual std::span<std::byte> buffer(BufferId id) const = 0;
};

/// One operation of a step. Ops of a lane run in the order in which they were added; across lanes only `after` orders them.
struct Op {
  OpKind kind = OpKind::Forward;
  LaneKind lane = LaneKind::Compute;
  std::string name;         ///< for people: "forward h.3"
  int unit = -1;            ///< the model's unit, -1 if none
  std::vector<OpId> after;  ///< must be complete before it runs
  Bytes bytes{0};           ///< that this rank receives
  Flops flops{0};
  std::vector<OpId> after_credits{};     ///< written by StepGraph: must be complete too, for memory's sake alone
  std::vector<CreditUse> takes;          ///< at issue, where the issuing thread blocks until they are there, or when it begins (WaitSide)
  std::vector<CreditUse> gives;          ///< when it completes
  std::vector<BufferId> produces;        ///< memory is taken at issue, from the lane's pool
  std::vector<BufferId> uses;            ///< produced by an earlier op
  std::vector<BufferId> releases;        ///< given back when it completes
  std::function<void(OpContext&)> body;  ///< may be empty: an op that only orders, takes and gives
};

}  // namespace twinax::step
