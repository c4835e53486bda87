#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/step/graph.hpp"
#include "twinax/step/verify.hpp"

namespace twinax::step::test {

/// Numbers in a row from one seed.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : random_(seed, Draw::Test) {}
  /// Uniform in [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.bits(next_++) % n); }
  /// Uniform in [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first + 1)));
  }

 private:
  Philox random_;
  std::uint64_t next_ = 0;
};

/// A graph's parts, which can still be changed.
struct Draft {
  std::vector<PoolSpec> pools;
  std::vector<BufferSpec> buffers;
  std::vector<Op> ops;
  [[nodiscard]] StepGraph build() const {
    StepGraph graph;
    for (const PoolSpec& pool : pools) graph.add_pool(pool);
    for (const BufferSpec& buffer : buffers) graph.add_buffer(buffer);
    for (const Op& op : ops) graph.add(op);
    return graph;
  }
};

/// What `verify` says of a graph; empty if it accepts it.
inline std::string fault_of(const StepGraph& graph) {
  try {
    verify(graph);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

/// An op with a lane and a name.
inline Op make_op(LaneKind lane, std::string name, std::vector<OpId> after = {}) {
  Op op{.kind = lane == LaneKind::Collective ? OpKind::Gather : OpKind::Forward, .lane = lane, .name = std::move(name)};
  op.after = std::move(after);
  return op;
}

/// Adds buffers, each used between its producer and its releaser, which wait for each other by `after`.
inline void add_random_buffers(Draft& draft, Numbers& numbers) {
  const std::size_t count = numbers.below(draft.ops.size() + 1);
  for (std::size_t b = 0; b < count; ++b) {
    draft.buffers.push_back({.name = "buffer " + std::to_string(b), .size = {numbers.between(0, 5000)}});
    const std::size_t producer = numbers.below(draft.ops.size());
    const std::size_t releaser = producer + numbers.below(draft.ops.size() - producer);
    draft.ops[producer].produces.push_back({b});
    draft.ops[releaser].releases.push_back({b});
    if (producer != releaser) draft.ops[releaser].after.push_back({producer});
    for (std::size_t user = producer + 1; user < releaser; ++user) {
      if (numbers.below(3) != 0) continue;
      draft.ops[user].uses.push_back({b});
      draft.ops[user].after.push_back({producer});
      draft.ops[releaser].after.push_back({user});
    }
  }
}

/// Whether blocks of the pool can be waited for: at the end of each, earlier ops give all of it back.
inline bool can_be_blocks(const Draft& draft, std::size_t pool) {
  const std::int64_t capacity = draft.pools[pool].capacity;
  std::int64_t out = 0;
  std::int64_t of_block = 0;
  for (const Op& op : draft.ops) {
    for (const CreditUse& use : op.takes) {
      if (use.pool.index != pool) continue;
      if (of_block + use.amount > capacity && out > 0) return false;
      of_block = of_block + use.amount > capacity ? use.amount : of_block + use.amount;
      out += use.amount;
    }
    for (const CreditUse& use : op.gives) out -= use.pool.index == pool ? use.amount : 0;
  }
  return true;
}

/// Makes some pools' credits come in blocks, and lanes wait for some: whoever gives those back comes after all that took before.
inline void add_random_policies(Draft& draft, Numbers& numbers) {
  for (std::size_t p = 0; p < draft.pools.size(); ++p) {
    if (draft.pools[p].capacity != 0 && numbers.below(2) == 0 && can_be_blocks(draft, p)) draft.pools[p].refill = Refill::All;
    if (numbers.below(2) == 0) continue;
    draft.pools[p].side = WaitSide::Lane;
    const auto uses = [p](const std::vector<CreditUse>& list) { return std::ranges::count(list, PoolId{p}, &CreditUse::pool) > 0; };
    for (std::size_t giver = 0; giver < draft.ops.size(); ++giver) {
      for (std::size_t taker = 0; uses(draft.ops[giver].gives) && taker < giver; ++taker) {
        if (uses(draft.ops[taker].takes)) draft.ops[giver].after.push_back({taker});
      }
    }
  }
}

/// Adds pairs of a take and a give wherever they leave every op's take within the bound once all earlier ops are complete.
inline void add_random_credits(Draft& draft, Numbers& numbers) {
  const std::size_t pools = 1 + numbers.below(3);
  for (std::size_t p = 0; p < pools; ++p) {
    draft.pools.push_back({.name = "pool " + std::to_string(p), .capacity = numbers.between(0, 4)});
    const std::int64_t capacity = draft.pools.back().capacity;
    std::vector<std::int64_t> out(draft.ops.size(), 0);  // by op: taken by it and before it, and not given before it
    for (std::size_t tries = 0; tries < draft.ops.size(); ++tries) {
      const std::size_t taker = numbers.below(draft.ops.size());
      const std::size_t giver = taker + numbers.below(std::min<std::size_t>(draft.ops.size() - taker, 6));
      const std::int64_t amount = numbers.between(1, 2);
      bool fits = true;
      for (std::size_t i = taker; i <= giver; ++i) fits = fits && (capacity == 0 || out[i] + amount <= capacity);
      if (!fits) continue;
      for (std::size_t i = taker; i <= giver; ++i) out[i] += amount;
      draft.ops[taker].takes.push_back({.pool = {p}, .amount = amount});
      draft.ops[giver].gives.push_back({.pool = {p}, .amount = amount});
    }
  }
}

/// A schedule that can be run, of 1 to `most` ops on all lanes.
inline Draft random_draft(Numbers& numbers, std::size_t most = 40) {
  Draft draft;
  const std::size_t count = 1 + numbers.below(most);
  for (std::size_t i = 0; i < count; ++i) {
    draft.ops.push_back(make_op(static_cast<LaneKind>(numbers.below(kLanes)), "op " + std::to_string(i)));
    for (std::size_t waits = numbers.below(3); i > 0 && waits > 0; --waits) draft.ops.back().after.push_back({numbers.below(i)});
  }
  add_random_buffers(draft, numbers);
  add_random_credits(draft, numbers);
  return draft;
}

}  // namespace twinax::step::test
