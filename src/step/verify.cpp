#include "twinax/step/verify.hpp"

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

/// Which ops are complete before an op begins, transitively: a bit for each pair.
class Order {
 public:
  explicit Order(const StepGraph& graph) : words_((graph.ops().size() + 63) / 64), before_(graph.ops().size() * words_) {
    std::array<std::optional<std::size_t>, kLanes> last{};
    for (std::size_t i = 0; i < graph.ops().size(); ++i) {
      const Op& op = graph.ops()[i];
      for (const OpId id : op.after) add(i, id.index);
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
      if (pool.capacity != 0 && out[use.pool.index] + use.amount > pool.capacity) complete_before(i);
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

}  // namespace

void verify(const StepGraph& graph) {
  const Order order(graph);
  verify_buffers(graph, order);
  verify_gives(graph);
  verify_credits(graph);
}

}  // namespace twinax::step
