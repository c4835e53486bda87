#include "twinax/step/graph.hpp"

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
  return {pools_.size() - 1};
}

BufferId StepGraph::add_buffer(BufferSpec buffer) {
  buffers_.push_back(std::move(buffer));
  return {buffers_.size() - 1};
}

OpId StepGraph::add(Op op) {
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
  ops_.push_back(std::move(op));
  return {ops_.size() - 1};
}

}  // namespace twinax::step
