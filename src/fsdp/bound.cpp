#include "twinax/fsdp/bound.hpp"

#include <algorithm>

#include "twinax/collective/traffic.hpp"
#include "twinax/collective/wire.hpp"

namespace twinax::fsdp {

BoundCost::BoundCost(const BuiltStep& built, const StepPlan& plan, const ComputeTimes& times, const net::Profile* profile,
                     int ranks_per_node, bool is_hierarchical)
    : built_(built), plan_(plan), times_(times), profile_(profile), ranks_per_node_(ranks_per_node), is_hierarchical_(is_hierarchical) {}

Seconds BoundCost::seconds(const step::StepGraph& graph, step::OpId id) const {
  const step::Op& op = graph[id];
  const int stage = built_.stages[id.index].stage;
  switch (op.kind) {
    case step::OpKind::Forward:
      return times_.forward[static_cast<std::size_t>(stage)];
    case step::OpKind::Backward:
      return times_.backward[static_cast<std::size_t>(stage)];
    case step::OpKind::Optimize:
      return op.unit < 0 ? times_.norm : times_.optimize[static_cast<std::size_t>(op.unit)];
    case step::OpKind::Gather:
    case step::OpKind::Reduce:
    case step::OpKind::Exchange:
      return communication(op, built_.stages[id.index]);
  }
  return {0};
}

collective::Traffic BoundCost::traffic_of(const step::Op& op, const OpStage& stage) const {
  if (op.unit < 0) return {};
  if (stage.is_between_replicas) return traffic_between_replicas(plan_.layouts[static_cast<std::size_t>(op.unit)].shard);
  const bool is_gather = op.kind == step::OpKind::Gather;
  const Dtype wire = is_gather ? plan_.wire : plan_.shards_reduce_in();
  const Bytes whole = collective::wire_size(plan_.layouts[static_cast<std::size_t>(op.unit)].shard, wire) * plan_.shards();
  const auto operation = is_gather ? collective::Operation::AllGather : collective::Operation::ReduceScatter;
  const int per_node = plan_.strategy == Strategy::Hybrid ? plan_.shards() : ranks_per_node_;
  return traffic(operation, is_gather ? gathers_by() : sums_by(wire), whole, plan_.shards(), per_node);
}

collective::Traffic BoundCost::traffic_between_replicas(std::int64_t shard) const {
  const int replicas = plan_.replicas();
  const Dtype wire = plan_.replicas_reduce_in();
  const std::int64_t part = (shard + replicas - 1) / replicas;
  const int per_node = plan_.shards() == 1 ? ranks_per_node_ : 1;
  collective::Traffic sum =
      traffic(collective::Operation::ReduceScatter, sums_by(wire), collective::wire_size(part, wire) * replicas, replicas, per_node);
  const collective::Traffic gather = traffic(collective::Operation::AllGather, sums_by(wire),
                                             collective::wire_size(part, collective::sum_wire(wire)) * replicas, replicas, per_node);
  // Each of a node's ranks sums its shard with the ranks of its place in the other nodes.
  sum.into_node = (sum.into_node + gather.into_node) * plan_.shards();
  sum.into_rank += gather.into_rank;
  sum.through_pair += gather.through_pair;
  return sum;
}

const char* BoundCost::gathers_by() const {
  return is_hierarchical_ ? "hierarchical" : "ring";
}

const char* BoundCost::sums_by(Dtype wire) const {
  return wire == Dtype::Fp32 ? gathers_by() : "pairwise";
}

Seconds BoundCost::communication(const step::Op& op, const OpStage& stage) const {
  if (profile_ == nullptr || plan_.ranks == 1) return {0};
  if (op.kind == step::OpKind::Exchange) return plan_.ranks > ranks_per_node_ ? profile_->latency : profile_->in_node_latency;
  return collective::bound(traffic_of(op, stage), *profile_);
}

Seconds BoundCost::roofline() const {
  Seconds compute{0};
  Bytes into_node{0};
  for (std::size_t i = 0; i < built_.graph.ops().size(); ++i) {
    const step::Op& op = built_.graph.ops()[i];
    if (op.lane == step::LaneKind::Compute) {
      compute += seconds(built_.graph, {i});
    } else if (profile_ != nullptr && plan_.ranks > 1) {
      into_node += traffic_of(op, built_.stages[i]).into_node;
    }
  }
  return profile_ == nullptr ? compute : std::max(compute, into_node / profile_->usable_rate());
}

}  // namespace twinax::fsdp
