#include "twinax/step/graph.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "twinax/base/error.hpp"

namespace twinax::step {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::Gather:
      return "gather";
    case OpKind::Reduce:
      return "reduce";
    case OpKind::Forward:
      return "forward";
    case OpKind::Backward:
      return "backward";
    case OpKind::Optimize:
      return "optimize";
    case OpKind::Exchange:
      return "exchange";
  }
  return "?";
}

const char* name_of(LaneKind lane) {
  switch (lane) {
    case LaneKind::Compute:
      return "compute";
    case LaneKind::Collective:
      return "collective";
    case LaneKind::Service:
      return "service";
  }
  return "?";
}

PoolId StepGraph::add_pool(PoolSpec pool) {
  pools_.push_back(std::move(pool));
  ledgers_.emplace_back();
  return {pools_.size() - 1};
}

SlotId StepGraph::add_slot(SlotSpec slot) {
  slots_.push_back(std::move(slot));
  slot_released_by_.emplace_back();
  return {slots_.size() - 1};
}

BufferId StepGraph::add_buffer(BufferSpec buffer) {
  if (buffer.slot && buffer.slot->index >= slots_.size()) {
    throw InvalidArgument("the buffer \"" + buffer.name + "\" names slot " + std::to_string(buffer.slot->index) + " of " +
                          std::to_string(slots_.size()));
  }
  buffers_.push_back(std::move(buffer));
  return {buffers_.size() - 1};
}

void StepGraph::check(const Op& op) const {
  const auto refuse = [&op](const char* what, std::size_t index, std::size_t count) {
    throw InvalidArgument("the op \"" + op.name + "\" names " + what + " " + std::to_string(index) + " of " + std::to_string(count));
  };
  for (const OpId id : op.after) {
    if (id.index >= ops_.size()) refuse("to wait for op", id.index, ops_.size());
  }
  for (const auto* uses : {&op.takes, &op.gives}) {
    for (const CreditUse& use : *uses) {
      if (use.pool.index >= pools_.size()) refuse("pool", use.pool.index, pools_.size());
    }
  }
  for (const auto* ids : {&op.produces, &op.uses, &op.releases}) {
    for (const BufferId id : *ids) {
      if (id.index >= buffers_.size()) refuse("buffer", id.index, buffers_.size());
    }
  }
}

/// The last ops of each lane that have to give credits back before those that `op` takes are there, whatever else has been given by then.
std::vector<OpId> StepGraph::givers_for(const Op& op) {
  std::vector<OpId> givers;
  for (const CreditUse& use : op.takes) {
    const PoolSpec& pool = pools_[use.pool.index];
    Ledger& ledger = ledgers_[use.pool.index];
    if (pool.refill == Refill::All && ledger.taken + use.amount > ledger.block_begin + pool.capacity) ledger.block_begin = ledger.taken;
    ledger.taken += use.amount;
    if (pool.side == WaitSide::Host || pool.capacity == 0) continue;
    const std::int64_t needed = pool.refill == Refill::All ? ledger.block_begin : ledger.taken - pool.capacity;
    std::array<bool, kLanes> has_giver{};
    const auto enough = std::ranges::lower_bound(ledger.gives, needed, {}, &Ledger::Give::until);
    const auto count = needed <= 0 ? 0 : std::min<std::ptrdiff_t>(enough - ledger.gives.begin() + 1, std::ssize(ledger.gives));
    for (auto give = ledger.gives.begin() + count; give != ledger.gives.begin();) {
      --give;
      bool& has = has_giver[static_cast<std::size_t>(ops_[give->op.index].lane)];
      if (!has) givers.push_back(give->op);
      has = true;
      if (std::ranges::all_of(has_giver, std::identity{})) break;
    }
  }
  return givers;
}

OpId StepGraph::add(Op op) {
  check(op);
  const OpId id{ops_.size()};
  op.after_credits = givers_for(op);
  for (const BufferId buffer : op.produces) {
    const std::optional<SlotId> slot = buffers_[buffer.index].slot;
    if (slot && slot_released_by_[slot->index]) op.after_credits.push_back(*slot_released_by_[slot->index]);
  }
  for (const CreditUse& use : op.gives) {
    Ledger& ledger = ledgers_[use.pool.index];
    const std::int64_t before = ledger.gives.empty() ? 0 : ledger.gives.back().until;
    ledger.gives.push_back({.op = id, .until = before + use.amount});
  }
  for (const BufferId buffer : op.releases) {
    if (const std::optional<SlotId> slot = buffers_[buffer.index].slot) slot_released_by_[slot->index] = id;
  }
  ops_.push_back(std::move(op));
  return id;
}

}  // namespace twinax::step
