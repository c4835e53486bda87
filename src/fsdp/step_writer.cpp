#include "fsdp/step_writer.hpp"

#include <utility>

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

}  // namespace

StepWriter::StepWriter(const StepPlan& plan, StepBodies* bodies, std::vector<Use> uses, bool keeps_gathered)
    : plan_(plan),
      bodies_(bodies),
      uses_(std::move(uses)),
      groups_(uses_.size() + 1),
      units_(plan.layouts.size()),
      pools_(plan, uses_, keeps_gathered, built_) {
  for (const Use& use : uses_) unit_of(use).backwards_left += use.backward ? 1 : 0;
}

void StepWriter::write_uses() {
  const bool is_pre = plan_.backward_prefetch == BackwardPrefetch::Pre;
  for (const Use& use : uses_) {
    write_gathers(use.group, is_pre);
    if (use.backward) {
      if (plan_.checkpoint) write_recompute(use);
      write_backward(use);
      if (use.unit != 0) write_gathers(use.group, true);
    } else {
      write_forward(use);
    }
  }
}

void StepWriter::write_gathers(int group, bool backward_too) {
  for (; next_gather_ < uses_.size(); ++next_gather_) {
    const Use& use = uses_[next_gather_];
    const bool may_be_ahead = backward_too || !use.backward;
    if (use.unit != 0 && use.group > group && !(may_be_ahead && pools_.is_gathered_ahead(group, use.group))) return;
    if (use.gathers && !plan_.is_resident()) write_gather(use);
  }
}

void StepWriter::write_update() {
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

OpId StepWriter::write_total() {
  Op op{.kind = OpKind::Exchange, .lane = LaneKind::Collective, .name = "total"};
  op.after = {{built_.graph.ops().size() - 1}};
  if (bodies_ != nullptr) op.body = [bodies = bodies_](OpContext&) { bodies->total(); };
  return add(std::move(op), {});
}

BuiltStep StepWriter::take() {
  return std::move(built_);
}

OpId StepWriter::add(Op op, OpStage stage) {
  built_.stages.push_back(stage);
  return built_.graph.add(std::move(op));
}

BufferId StepWriter::add_buffer(const Use& use, const char* what, std::optional<step::SlotId> slot) {
  return built_.graph.add_buffer({.name = what + name_of(use), .size = Bytes{4} * layout_of(use).padded, .slot = slot});
}

void StepWriter::write_gather(const Use& use) {
  Gathered& gathered = gathered_for(use);
  gathered.buffer = add_buffer(use, "parameters ", pools_.next_gathered_slot(use.unit));
  Op op{.kind = OpKind::Gather, .lane = LaneKind::Collective, .name = "gather " + name_of(use), .unit = use.unit};
  op.bytes = received(use, plan_.wire);
  op.produces = {*gathered.buffer};
  pools_.take_gathered(op);
  if (bodies_ != nullptr) {
    op.body = [bodies = bodies_, u = use.unit, buffer = gathered.buffer](OpContext& context) {
      bodies->gather(u, floats(context, buffer));
    };
  }
  gathered.by = add(std::move(op), {.stage = -1, .micro_batch = use.micro_batch});
}

Op StepWriter::make_use(const Use& use, OpKind kind, const char* what, Flops flops) {
  const Gathered& gathered = gathered_for(use);
  Op op{.kind = kind, .lane = LaneKind::Compute, .name = what + plan_.stages[use.stage].name, .unit = use.unit};
  op.flops = flops;
  if (plan_.is_resident()) return op;
  op.after = {gathered.by};
  op.uses = {*gathered.buffer};
  if (use.releases) {
    op.releases = {*gathered.buffer};
    pools_.give_gathered(op);
  }
  return op;
}

void StepWriter::write_forward(const Use& use) {
  if (use.unit != 0) last_forward_ = use.stage;
  Op op = make_use(use, OpKind::Forward, "forward ", plan_.forward_flops[use.stage]);
  if (bodies_ != nullptr) {
    op.body = [bodies = bodies_, use, buffer = gathered_for(use).buffer](OpContext& context) {
      bodies->forward(use.stage, use.micro_batch, floats(context, buffer));
    };
  }
  add(std::move(op), {.stage = static_cast<int>(use.stage), .micro_batch = use.micro_batch});
}

void StepWriter::write_recompute(const Use& use) {
  if (use.unit == 0 || last_forward_ == use.stage) return;
  last_forward_ = use.stage;
  Use again = use;
  again.releases = false;
  Op op = make_use(again, OpKind::Forward, "recompute ", plan_.forward_flops[use.stage]);
  if (bodies_ != nullptr) {
    op.body = [bodies = bodies_, stage = use.stage, buffer = gathered_for(use).buffer](OpContext& context) {
      bodies->recompute(stage, floats(context, buffer));
    };
  }
  add(std::move(op), {.stage = static_cast<int>(use.stage), .micro_batch = use.micro_batch});
}

void StepWriter::write_backward(const Use& use) {
  UnitState& unit = unit_of(use);
  Op op = make_use(use, OpKind::Backward, "backward ", plan_.backward_flops[use.stage]);
  bool is_first = !unit.touched;
  if (!plan_.is_resident()) {
    is_first = !unit.gradients;
    if (is_first) {
      unit.gradients = add_buffer(use, "gradients ", pools_.next_gradients_slot(use.unit));
      op.produces = {*unit.gradients};
      pools_.take_reduction(op);
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
  write_reductions(use, id);
}

void StepWriter::write_reductions(const Use& use, OpId after) {
  const bool is_last = unit_of(use).backwards_left == 0;
  // Sharded blocks are reduced after each micro-batch unless their whole gradients may persist; whole gradients, the root's and those of
  // shards over their replicas once, when they are complete.
  const bool accumulates = use.unit == 0 || plan_.keeps_gradients();
  if (plan_.shards() > 1 && (is_last || !accumulates)) after = write_reduce(use, after);
  if (plan_.replicas() > 1 && is_last) write_reduce_replicas(use, after);
}

OpId StepWriter::write_reduce(const Use& use, OpId after) {
  UnitState& unit = unit_of(use);
  Op op{.kind = OpKind::Reduce, .lane = LaneKind::Collective, .name = "reduce " + name_of(use), .unit = use.unit, .after = {after}};
  op.bytes = received(use, plan_.shards_reduce_in());
  op.uses = {*unit.gradients};
  op.releases = {*unit.gradients};
  pools_.give_reduction(op);
  if (bodies_ != nullptr) {
    op.body = [bodies = bodies_, u = use.unit, buffer = unit.gradients, is_first = !unit.reduced](OpContext& context) {
      bodies->reduce(u, floats(context, buffer), is_first);
    };
  }
  unit.gradients.reset();
  unit.reduced = true;
  reductions_.push_back(add(std::move(op), {.stage = -1, .micro_batch = use.micro_batch}));
  return reductions_.back();
}

void StepWriter::write_reduce_replicas(const Use& use, OpId after) {
  const char* const where = plan_.shards() > 1 ? " between nodes" : "";
  Op op{.kind = OpKind::Reduce, .lane = LaneKind::Collective, .name = "reduce " + name_of(use) + where, .unit = use.unit, .after = {after}};
  // A sum's two halves: this rank's part of it from the others, then theirs.
  const std::int64_t part = (layout_of(use).shard + plan_.replicas() - 1) / plan_.replicas();
  const Dtype wire = plan_.replicas_reduce_in();
  op.bytes = (collective::wire_size(part, wire) + collective::wire_size(part, collective::sum_wire(wire))) * (plan_.replicas() - 1);
  if (bodies_ != nullptr) op.body = [bodies = bodies_, u = use.unit](OpContext&) { bodies->reduce_replicas(u); };
  reductions_.push_back(add(std::move(op), {.stage = -1, .micro_batch = use.micro_batch, .is_between_replicas = true}));
}

}  // namespace twinax::fsdp
