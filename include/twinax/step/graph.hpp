#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twinax/step/credits.hpp"
#include "twinax/step/op.hpp"

namespace twinax::step {

/// Who waits for a pool's credits.
enum class WaitSide : std::uint8_t {
  Host,  ///< the issuing thread: an op takes its credits when it is issued
  Lane   ///< the op's lane: it takes them when it begins, and the issuing thread runs on
};

/// A bounded pool of credits.
struct PoolSpec {
  std::string name;           ///< "gathered units"
  std::int64_t capacity = 0;  ///< 0 = unlimited (still counted)
  Refill refill = Refill::Each;
  WaitSide side = WaitSide::Host;
};

/// Memory that is made once and serves buffers one after the other.
struct SlotSpec {
  std::string name;  ///< an executor keeps one memory of that name from run to run
  Bytes size{0};
};

/// Memory that lives from its producer's issue to its releaser's completion. It belongs to the pool of its producer's lane.
struct BufferSpec {
  std::string name;
  Bytes size{0};
  std::optional<SlotId> slot{};  ///< whose memory it has; of its own if none
};

/// One step as data: ops in program order, their credits and buffers. Three interpreters run it.
class StepGraph {
 public:
  /// Adds a pool.
  PoolId add_pool(PoolSpec pool);
  /// Adds a buffer.
  BufferId add_buffer(BufferSpec buffer);
  /// Adds a slot.
  SlotId add_slot(SlotSpec slot);
  /// Adds an op at the end of the program order, and says in its `after_credits` what its lane waits for: those that give the credits of
  /// lanes' pools that it takes, and those that release the slots of what it produces. Throws InvalidArgument for an index that does not
  /// exist or an `after` that points ahead.
  OpId add(Op op);

  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::span<const PoolSpec> pools() const { return pools_; }
  [[nodiscard]] std::span<const BufferSpec> buffers() const { return buffers_; }
  [[nodiscard]] std::span<const SlotSpec> slots() const { return slots_; }
  [[nodiscard]] const Op& operator[](OpId id) const { return ops_[id.index]; }

 private:
  /// A pool's credits in program order.
  struct Ledger {
    struct Give {
      OpId op;
      std::int64_t until = 0;  // credits given up to and with it
    };
    std::int64_t taken = 0;
    std::int64_t block_begin = 0;  // credits taken before the block that is being taken
    std::vector<Give> gives;
  };
  void check(const Op& op) const;
  [[nodiscard]] std::vector<OpId> givers_for(const Op& op);
  std::vector<Op> ops_;
  std::vector<PoolSpec> pools_;
  std::vector<BufferSpec> buffers_;
  std::vector<SlotSpec> slots_;
  std::vector<Ledger> ledgers_;                        // by pool
  std::vector<std::optional<OpId>> slot_released_by_;  // by slot
};

}  // namespace twinax::step
