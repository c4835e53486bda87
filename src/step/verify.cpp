#include "twinax/step/verify.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "twinax/base/error.hpp"

namespace twinax::step {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw InvalidArgument("this schedule can't be run: " + what);
}

/// Which ops are complete before an op begins, transitively: a bit for each pair. `with_credits`: also because lanes wait for memory's
/// sake.
class Order {
 public:
  Order(const StepGraph& graph, bool with_credits) : words_((graph.ops().size() + 63) / 64), before_(graph.ops().size() * words_) {
    std::array<std::optional<std::size_t>, kLanes> last{};
    for (std::size_t i = 0; i < graph.ops().size(); ++i) {
      const Op& op = graph.ops()[i];
      for (const OpId id : op.after) add(i, id.index);
      for (const OpId id : op.after_credits) {
        if (with_credits) add(i, id.index);
      }
      std::optional<std::size_t>& previous = last[static_cast<std::size_t>(op.lane)];
      if (previous) add(i, *previous);
      previous = i;
    }
  }
  /// Whether `first` is always complete before `second` begins.
  [[nodiscard]] bool is_before(std::size_t first, std::size_t second) const {
    return ((before_[second * words_ + first / 64] >> (first % 64)) & 1U) != 0;
  }

 private:
  void add(std::size_t op, std::size_t earlier) {
    for (std::size_t w = 0; w < words_; ++w) before_[op * words_ + w] |= before_[earlier * words_ + w];
    before_[op * words_ + earlier / 64] |= std::uint64_t{1} << (earlier % 64);
  }
  std::size_t words_;
  std::vector<std::uint64_t> before_;
};

/// A buffer's life as the ops tell it.
struct Life {
  std::optional<std::size_t> producer, releaser;
  std::vector<std::size_t> users;
};

std::vector<Life> lives_of(const StepGraph& graph) {
  std::vector<Life> lives(graph.buffers().size());
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    for (const BufferId id : op.produces) {
      if (lives[id.index].producer)
        refuse("the buffer \"" + graph.buffers()[id.index].name + "\" is produced twice, last by \"" + op.name + "\"");
      lives[id.index].producer = i;
    }
    for (const BufferId id : op.uses) lives[id.index].users.push_back(i);
    for (const BufferId id : op.releases) {
      if (lives[id.index].releaser)
        refuse("the buffer \"" + graph.buffers()[id.index].name + "\" is released twice, last by \"" + op.name + "\"");
      lives[id.index].releaser = i;
    }
  }
  return lives;
}

void verify_buffers(const StepGraph& graph, const Order& order) {
  const std::vector<Life> lives = lives_of(graph);
  for (std::size_t b = 0; b < lives.size(); ++b) {
    const Life& life = lives[b];
    const std::string buffer = "the buffer \"" + graph.buffers()[b].name + "\"";
    const auto op_name = [&](std::size_t op) { return "\"" + graph.ops()[op].name + "\""; };
    if (!life.producer) {
      if (life.users.empty() && !life.releaser) continue;
      refuse(buffer + " is used by " + op_name(life.users.empty() ? *life.releaser : life.users.front()) + " but produced by none");
    }
    if (!life.releaser) refuse(buffer + " is never released");
    const auto needs_order = [&](std::size_t first, std::size_t second, const char* what) {
      if (first != second && !order.is_before(first, second))
        refuse(buffer + " " + what + " " + op_name(second) + ", which is not ordered after " + op_name(first));
    };
    for (const std::size_t user : life.users) {
      needs_order(*life.producer, user, "is used by");
      needs_order(user, *life.releaser, "is released by");
    }
    needs_order(*life.producer, *life.releaser, "is released by");
  }
}

/// Amounts are 1 at least, and whatever the timing no pool is given more than was taken from it: an op may complete as soon as it is
/// issued, so up to every op the gives are covered by the takes.
void verify_gives(const StepGraph& graph) {
  std::vector<std::int64_t> out(graph.pools().size(), 0);
  for (const Op& op : graph.ops()) {
    for (const auto* uses : {&op.takes, &op.gives}) {
      for (const CreditUse& use : *uses) {
        if (use.amount < 1)
          refuse("\"" + op.name + "\" takes or gives " + std::to_string(use.amount) + " credits of \"" +
                 graph.pools()[use.pool.index].name + "\"");
      }
    }
    for (const CreditUse& use : op.takes) out[use.pool.index] += use.amount;
    for (const CreditUse& use : op.gives) {
      out[use.pool.index] -= use.amount;
      if (out[use.pool.index] < 0)
        refuse("\"" + op.name + "\" gives credits of \"" + graph.pools()[use.pool.index].name + "\" that have not been taken by then");
    }
  }
}

/// Issues in program order; where credits are short, completes every op that can be complete by then. What is still short never comes.
void verify_credits(const StepGraph& graph) {
  std::vector<std::int64_t> out(graph.pools().size(), 0);
  std::vector<std::int64_t> taken_of_block(graph.pools().size(), 0);
  std::vector<bool> complete(graph.ops().size(), false);
  // All issued ops complete in the end, since they wait only for earlier ones; so an op that blocks sees every earlier op's credits given
  // back.
  const auto complete_before = [&](std::size_t issuing) {
    for (std::size_t i = 0; i < issuing; ++i) {
      if (complete[i]) continue;
      complete[i] = true;
      for (const CreditUse& use : graph.ops()[i].gives) out[use.pool.index] -= use.amount;
    }
  };
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    for (const CreditUse& use : op.takes) {
      const PoolSpec& pool = graph.pools()[use.pool.index];
      if (pool.capacity != 0 && use.amount > pool.capacity) {
        refuse("\"" + op.name + "\" takes " + std::to_string(use.amount) + " credits of \"" + pool.name + "\", which holds " +
               std::to_string(pool.capacity));
      }
      std::int64_t& of_block = taken_of_block[use.pool.index];
      const bool ends_block = pool.refill == Refill::All && pool.capacity != 0 && of_block + use.amount > pool.capacity;
      if (pool.capacity != 0 && (ends_block || out[use.pool.index] + use.amount > pool.capacity)) complete_before(i);
      if (ends_block && out[use.pool.index] > 0) {
        refuse("\"" + op.name + "\" waits for all credits of \"" + pool.name + "\", some of which only ops issued after it give back");
      }
      of_block = ends_block ? use.amount : of_block + use.amount;
      out[use.pool.index] += use.amount;
      if (pool.capacity != 0 && out[use.pool.index] > pool.capacity) {
        refuse("\"" + op.name + "\" waits for credits of \"" + pool.name + "\" that only ops issued after it give back");
      }
    }
  }
  complete_before(graph.ops().size());
  for (std::size_t p = 0; p < out.size(); ++p) {
    if (out[p] != 0) refuse("the pool \"" + graph.pools()[p].name + "\" ends a step with " + std::to_string(out[p]) + " credits out");
  }
}

/// A pool's credits that lanes wait for, in program order.
struct LaneUse {
  std::size_t op = 0;
  std::int64_t amount = 0;
  std::int64_t sum = 0;  // of all up to and with it
};

/// The uses of one pool among the ops' takes or gives.
std::vector<LaneUse> uses_of(const StepGraph& graph, std::size_t pool, std::vector<CreditUse> Op::*which) {
  std::vector<LaneUse> uses;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    for (const CreditUse& use : graph.ops()[i].*which) {
      if (use.pool.index != pool) continue;
      sum += use.amount;
      uses.push_back({.op = i, .amount = use.amount, .sum = sum});
    }
  }
  return uses;
}

std::int64_t sum_before(const std::vector<LaneUse>& uses, std::size_t op, bool with_itself, const Order& order) {
  std::int64_t sum = 0;
  for (const LaneUse& use : uses) sum += (with_itself && use.op == op) || order.is_before(use.op, op) ? use.amount : 0;
  return sum;
}

/// Where lanes take credits as they begin, the order of ops alone keeps the bound: what is out when an op begins is at most what was taken
/// up to it in program order, less what ops ordered before it give. In the same way no credit is given before it is taken.
void verify_lanes(const StepGraph& graph, const Order& order) {
  for (std::size_t p = 0; p < graph.pools().size(); ++p) {
    const PoolSpec& pool = graph.pools()[p];
    if (pool.side != WaitSide::Lane) continue;
    const std::vector<LaneUse> takes = uses_of(graph, p, &Op::takes);
    const std::vector<LaneUse> gives = uses_of(graph, p, &Op::gives);
    std::int64_t block_begin = 0;
    for (const LaneUse& take : takes) {
      if (take.sum > block_begin + pool.capacity) block_begin = take.sum - take.amount;
      const std::int64_t needed = pool.refill == Refill::All ? block_begin : take.sum - pool.capacity;
      if (pool.capacity != 0 && sum_before(gives, take.op, false, order) < needed) {
        refuse("\"" + graph.ops()[take.op].name + "\" may begin before enough credits of \"" + pool.name + "\" are back, which holds " +
               std::to_string(pool.capacity));
      }
    }
    for (const LaneUse& give : gives) {
      if (sum_before(takes, give.op, true, order) < give.sum) {
        refuse("\"" + graph.ops()[give.op].name + "\" may give credits of \"" + pool.name + "\" before a lane has taken them");
      }
    }
  }
}

/// Of two buffers of a slot the first is released before the second is produced.
void verify_slots(const StepGraph& graph, const Order& order) {
  const std::vector<Life> lives = lives_of(graph);
  std::vector<std::optional<std::size_t>> last(graph.slots().size());
  std::vector<std::size_t> by_producer;
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (graph.buffers()[b].slot && lives[b].producer) by_producer.push_back(b);
  }
  std::ranges::stable_sort(by_producer, {}, [&](std::size_t b) { return *lives[b].producer; });
  for (const std::size_t b : by_producer) {
    const BufferSpec& buffer = graph.buffers()[b];
    const SlotSpec& slot = graph.slots()[buffer.slot->index];
    if (buffer.size > slot.size) {
      refuse("the buffer \"" + buffer.name + "\" of " + std::to_string(buffer.size.value) + " bytes is in \"" + slot.name +
             "\", which has " + std::to_string(slot.size.value));
    }
    std::optional<std::size_t>& before = last[buffer.slot->index];
    if (before && !order.is_before(*lives[*before].releaser, *lives[b].producer)) {
      refuse("the buffer \"" + buffer.name + "\" is produced in \"" + slot.name + "\" while \"" + graph.buffers()[*before].name +
             "\" may still be there");
    }
    before = b;
  }
}

}  // namespace

void verify(const StepGraph& graph) {
  verify_buffers(graph, Order(graph, false));
  verify_gives(graph);
  verify_credits(graph);
  const Order order(graph, true);
  verify_lanes(graph, order);
  verify_slots(graph, order);
}

}  // namespace twinax::step
