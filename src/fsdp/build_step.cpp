#include "twinax/fsdp/build_step.hpp"

#include <utility>

#include "twinax/base/error.hpp"
#include "twinax/fsdp/prefetch.hpp"

namespace twinax::fsdp {
namespace {

using step::BufferId;
using step::LaneKind;
using step::Op;
using step::OpContext;
using step::OpId;
using step::OpKind;

/// A buffer as floats; empty if there is none.
std::span<float> floats(const OpContext& context, std::optional<BufferId> buffer) {
  if (!buffer) return {};
  const std::span<std::byte> bytes = context.buffer(*buffer);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void check(const StepPlan& plan) {
  const std::size_t units = plan.unit_names.size();
  const std::size_t stages = plan.stages.size();
  if (plan.layouts.size() != units || plan.forward_flops.size() != stages || plan.backward_flops.size() != stages ||
      plan.micro_batches < 1) {
    throw InvalidArgument("a step plan of " + std::to_string(units) + " units, " + std::to_string(stages) + " stages and " +
                          std::to_string(plan.micro_batches) + " micro-batches has " + std::to_string(plan.layouts.size()) +
                          " layouts and " + std::to_string(plan.forward_flops.size()) + "/" + std::to_string(plan.backward_flops.size()) +
                          " stage costs");
  }
}

/// Parameters gathered for a group of uses.
struct Gathered {
  std::optional<BufferId> buffer;  // none where parameters are resident
  OpId by;
};

/// One unit's gradients while the graph is being written down.
struct UnitState {
  std::optional<BufferId> gradients;  // produced and not yet reduced
  std::int64_t backwards_left = 0;    // in the whole step
  bool touched = false;               // its gradients have been cleared in this step
  bool reduced = false;
};

/// Writes a step's ops down in program order.
class StepWriter {
 public:
  StepWriter(const StepPlan& plan, StepBodies* bodies, std::vector<Use> uses) : plan_(plan), bodies_(bodies), uses_(std::move(uses)) {
    check(plan);
    units_.resize(plan.layouts.size());
    groups_.resize(uses_.size() + 1);
    for (const Use& use : uses_) units_[static_cast<std::size_t>(use.unit)].backwards_left += use.backward ? 1 : 0;
    for (const Use& use : uses_) {
      if (use.unit != 0 && use.group == std::ssize(group_units_)) group_units_.push_back(use.unit);
    }
    if (plan.is_resident()) return;
    check_limiter(plan);
    gathers_.emplace(plan, built_.graph, "gathered units", "gathered");
    gradients_.emplace(plan, built_.graph, "reductions", "gradients");
    built_.gathered = gathers_->units();
    built_.reductions = gradients_->units();
  }

  /// All uses; the gathers of a use's group, and of groups after it as far as prefetch and limiter go, are issued before it.
  void write_uses() {
    std::size_t next = 0;  // gathers of uses before this one are written
    for (const Use& use : uses_) {
      for (; next < uses_.size() && (uses_[next].unit == 0 || is_gathered_ahead(plan_, group_units_, use.group, uses_[next].group));
           ++next) {
        if (uses_[next].gathers && !plan_.is_resident()) write_gather(uses_[next]);
      }
      if (use.backward) {
        write_backward(use);
      } else {
        write_forward(use);
      }
    }
  }

  /// The sums over ranks and the optimizer.
  void write_update() {
    Op norm{.kind = OpKind::Optimize, .lane = LaneKind::Compute, .name = "norm", .after = reductions_};
    if (bodies_ != nullptr) norm.body = [bodies = bodies_](OpContext&) { bodies->norm(); };
    add(std::move(norm), {});
    const OpId total = write_total();
    for (std::size_t u = 0; u < units_.size(); ++u) {
      Op op{.kind = OpKind::Optimize, .lane = LaneKind::Compute, .name = "optimize " + plan_.unit_names[u], .unit = static_cast<int>(u)};
      op.after = {total};
      if (bodies_ != nullptr) op.body = [bodies = bodies_, u](OpContext&) { bodies->optimize(static_cast<int>(u)); };
      add(std::move(op), {});
    }
  }

  /// The sum of loss and tokens over the ranks, after all that was written before.
  OpId write_total() {
    Op op{.kind = OpKind::Exchange, .lane = LaneKind::Collective, .name = "total"};
    op.after = {{built_.graph.ops().size() - 1}};
    if (bodies_ != nullptr) op.body = [bodies = bodies_](OpContext&) { bodies->total(); };
    return add(std::move(op), {});
  }

  [[nodiscard]] BuiltStep take() { return std::move(built_); }

 private:
  OpId add(Op op, OpStage stage) {
    built_.stages.push_back(stage);
    return built_.graph.add(std::move(op));
  }

  /// What was gathered for the use; the root's comes first. Groups, not units: a unit may be gathered again before it has been released.
  [[nodiscard]] Gathered& gathered_for(const Use& use) { return groups_[use.unit == 0 ? 0 : static_cast<std::size_t>(use.group) + 1]; }
  [[nodiscard]] UnitState& unit_of(const Use& use) { return units_[static_cast<std::size_t>(use.unit)]; }
  [[nodiscard]] const ShardLayout& layout_of(const Use& use) const { return plan_.layouts[static_cast<std::size_t>(use.unit)]; }
  [[nodiscard]] const std::string& name_of(const Use& use) const { return plan_.unit_names[static_cast<std::size_t>(use.unit)]; }
  /// What this rank receives in a gather or a reduction of the unit.
  [[nodiscard]] Bytes received(const Use& use) const { return size_of(plan_.wire) * (layout_of(use).padded - layout_of(use).shard); }

  /// A unit's whole run of parameters or gradients in memory.
  BufferId add_buffer(const Use& use, const char* what, LimitedBuffers& limited) {
    return built_.graph.add_buffer(
        {.name = what + name_of(use), .size = Bytes{4} * layout_of(use).padded, .slot = limited.next_slot(use.unit)});
  }

  void write_gather(const Use& use) {
    Gathered& gathered = gathered_for(use);
    gathered.buffer = add_buffer(use, "parameters ", *gathers_);
    Op op{.kind = OpKind::Gather, .lane = LaneKind::Collective, .name = "gather " + name_of(use), .unit = use.unit};
    op.bytes = received(use);
    op.produces = {*gathered.buffer};
    op.takes = gathers_->credits(use.unit);
    if (bodies_ != nullptr) {
      op.body = [bodies = bodies_, u = use.unit, buffer = gathered.buffer](OpContext& context) {
        bodies->gather(u, floats(context, buffer));
      };
    }
    gathered.by = add(std::move(op), {.stage = -1, .micro_batch = use.micro_batch});
  }

  /// What forward and backward have in common: the parameters, and their release after the last use.
  Op make_use(const Use& use, OpKind kind, const char* what, Flops flops) {
    const Gathered& gathered = gathered_for(use);
    Op op{.kind = kind, .lane = LaneKind::Compute, .name = what + plan_.stages[use.stage].name, .unit = use.unit};
    op.flops = flops;
    if (plan_.is_resident()) return op;
    op.after = {gathered.by};
    op.uses = {*gathered.buffer};
    if (use.releases) {
      op.releases = {*gathered.buffer};
      op.gives = gathers_->credits(use.unit);
    }
    return op;
  }

  void write_forward(const Use& use) {
    Op op = make_use(use, OpKind::Forward, "forward ", plan_.forward_flops[use.stage]);
    if (bodies_ != nullptr) {
      op.body = [bodies = bodies_, use, buffer = gathered_for(use).buffer](OpContext& context) {
        bodies->forward(use.stage, use.micro_batch, floats(context, buffer));
      };
    }
    add(std::move(op), {.stage = static_cast<int>(use.stage), .micro_batch = use.micro_batch});
  }

  void write_backward(const Use& use) {
    UnitState& unit = unit_of(use);
    Op op = make_use(use, OpKind::Backward, "backward ", plan_.backward_flops[use.stage]);
    bool is_first = !unit.touched;
    if (!plan_.is_resident()) {
      is_first = !unit.gradients;
      if (is_first) {
        unit.gradients = add_buffer(use, "gradients ", *gradients_);
        op.produces = {*unit.gradients};
        op.takes = gradients_->credits(use.unit);
      } else {
        op.uses.push_back(*unit.gradients);
      }
    }
    unit.touched = true;
    if (bodies_ != nullptr) {
      op.body = [bodies = bodies_, use, is_first, parameters = gathered_for(use).buffer, gradients = unit.gradients](OpContext& context) {
        bodies->backward(use.stage, use.micro_batch, floats(context, parameters), floats(context, gradients), is_first);
      };
    }
    const OpId id = add(std::move(op), {.stage = static_cast<int>(use.stage), .micro_batch = use.micro_batch});
    --unit.backwards_left;
    // Sharded blocks are reduced after each micro-batch, since only shards persist; whole gradients and the root's once, when they are
    // complete.
    const bool accumulates = plan_.is_resident() || use.unit == 0;
    if (plan_.ranks > 1 && (!accumulates || unit.backwards_left == 0)) write_reduce(use, id);
  }

  void write_reduce(const Use& use, OpId after) {
    UnitState& unit = unit_of(use);
    Op op{.kind = OpKind::Reduce, .lane = LaneKind::Collective, .name = "reduce " + name_of(use), .unit = use.unit, .after = {after}};
    op.bytes = plan_.is_resident() ? received(use) * 2 : received(use);
    if (unit.gradients) {
      op.uses = {*unit.gradients};
      op.releases = {*unit.gradients};
      op.gives = gradients_->credits(use.unit);
    }
    if (bodies_ != nullptr) {
      op.body = [bodies = bodies_, u = use.unit, buffer = unit.gradients, is_first = !unit.reduced](OpContext& context) {
        bodies->reduce(u, floats(context, buffer), is_first);
      };
    }
    unit.gradients.reset();
    unit.reduced = true;
    reductions_.push_back(add(std::move(op), {.stage = -1, .micro_batch = use.micro_batch}));
  }

  const StepPlan& plan_;
  StepBodies* bodies_;
  std::vector<Use> uses_;
  std::vector<int> group_units_;
  std::optional<LimitedBuffers> gathers_, gradients_;  // none where parameters are resident
  std::vector<Gathered> groups_;
  std::vector<UnitState> units_;
  std::vector<OpId> reductions_;
  BuiltStep built_;
};

}  // namespace

BuiltStep build_training_step(const StepPlan& plan, StepBodies* bodies) {
  StepWriter writer(plan, bodies, training_uses(plan.stages, plan.micro_batches));
  writer.write_uses();
  writer.write_update();
  return writer.take();
}

BuiltStep build_evaluation_step(const StepPlan& plan, StepBodies* bodies) {
  StepWriter writer(plan, bodies, evaluation_uses(plan.stages));
  writer.write_uses();
  writer.write_total();
  return writer.take();
}

}  // namespace twinax::fsdp
