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
      return communication(op);
  }
  return {0};
}

collective::Traffic BoundCost::traffic_of(const step::Op& op) const {
  if (op.unit < 0) return {};
  const Bytes whole = size_of(plan_.wire) * plan_.layouts[static_cast<std::size_t>(op.unit)].padded;
  const auto operation = op.kind == step::OpKind::Gather ? collective::Operation::AllGather
                         : plan_.is_resident()           ? collective::Operation::AllReduce
                                                         : collective::Operation::ReduceScatter;
  const bool is_gather = op.kind == step::OpKind::Gather;
  const char* const algorithm = plan_.wire == Dtype::Bf16 && !is_gather ? "pairwise" : is_hierarchical_ ? "hierarchical" : "ring";
  return collective::traffic(operation, algorithm, whole, plan_.ranks, ranks_per_node_);
}

Seconds BoundCost::communication(const step::Op& op) const {
  if (profile_ == nullptr || plan_.ranks == 1) return {0};
  if (op.kind == step::OpKind::Exchange) return plan_.ranks > ranks_per_node_ ? profile_->latency : profile_->in_node_latency;
  return collective::bound(traffic_of(op), *profile_);
}

Seconds BoundCost::roofline() const {
  Seconds compute{0};
  Bytes into_node{0};
  for (std::size_t i = 0; i < built_.graph.ops().size(); ++i) {
    const step::Op& op = built_.graph.ops()[i];
    if (op.lane == step::LaneKind::Compute) {
      compute += seconds(built_.graph, {i});
    } else if (profile_ != nullptr && plan_.ranks > 1) {
      into_node += traffic_of(op).into_node;
    }
  }
  return profile_ == nullptr ? compute : std::max(compute, into_node / profile_->usable_rate());
}

}  // namespace twinax::fsdp
