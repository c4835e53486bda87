#include "twinax/fsdp/bound.hpp"

#include <algorithm>

#include "twinax/collective/traffic.hpp"

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
  const ShardLayout& layout = plan_.layouts[static_cast<std::size_t>(op.unit)];
  const bool is_gather = op.kind == step::OpKind::Gather;
  const Dtype wire = is_gather ? plan_.wire : plan_.reduces_in();
  const char* const algorithm = wire != Dtype::Fp32 && !is_gather ? "pairwise" : is_hierarchical_ ? "hierarchical" : "ring";
  if (stage.is_between_replicas) {
    const Bytes shard = size_of(wire) * layout.shard;
    if (plan_.shards() == 1) return traffic(collective::Operation::AllReduce, algorithm, shard, plan_.ranks, ranks_per_node_);
    // Each of a node's ranks sums its shard with the ranks of its place in the other nodes.
    collective::Traffic sum = traffic(collective::Operation::AllReduce, algorithm, shard, plan_.replicas(), 1);
    sum.into_node = sum.into_node * plan_.shards();
    return sum;
  }
  const auto operation = is_gather ? collective::Operation::AllGather : collective::Operation::ReduceScatter;
  const int per_node = plan_.strategy == Strategy::Hybrid ? plan_.shards() : ranks_per_node_;
  return traffic(operation, algorithm, size_of(wire) * layout.padded, plan_.shards(), per_node);
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
