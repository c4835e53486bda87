#include "twinax/collective/traffic.hpp"

#include <algorithm>

namespace twinax::collective {
namespace {

Traffic one_pass(std::string_view algorithm, Bytes whole, int ranks, int ranks_per_node) {
  const std::int64_t piece = whole.value / ranks;
  const int in_node = std::min(ranks, ranks_per_node);
  const int foreign = ranks - in_node;
  const Bytes round{piece * (ranks - 1)};
  Traffic traffic;
  if (algorithm == "ring") {
    // Every edge of the ring carries the same; a node has one that comes in, and in_node - 1 (or, alone, all) inside.
    if (foreign > 0) traffic.into_node = traffic.through_pair = round;
    if (in_node > 1) traffic.into_rank = round;
  } else if (algorithm == "hierarchical") {
    // A ring of the members with one place, over the nodes; and the pieces of all nodes from each other member of the node.
    const int nodes = ranks / in_node;
    traffic.into_node = Bytes{piece * in_node * (nodes - 1)};
    traffic.through_pair = Bytes{piece * (nodes - 1)};
    traffic.into_rank = Bytes{piece * nodes * (in_node - 1)};
  } else {
    traffic.into_node = Bytes{piece * in_node * foreign};
    if (foreign > 0) traffic.through_pair = Bytes{piece};
    traffic.into_rank = Bytes{piece * (in_node - 1)};
  }
  return traffic;
}

}  // namespace

Traffic traffic(Operation operation, std::string_view algorithm, Bytes whole, int ranks, int ranks_per_node) {
  const int in_node = std::min(ranks, ranks_per_node);
  if (operation == Operation::Broadcast) {
    return {.into_node = ranks > in_node ? whole : Bytes{0},
            .into_rank = in_node > 1 ? whole : Bytes{0},
            .through_pair = ranks > in_node ? whole : Bytes{0}};
  }
  const bool is_hierarchy = in_node > 1 && ranks > in_node && ranks % in_node == 0;
  if (algorithm == "hierarchical" && !is_hierarchy) algorithm = "ring";
  const Traffic gather = one_pass(algorithm == "pairwise" ? "ring" : algorithm, whole, ranks, ranks_per_node);
  if (operation == Operation::AllGather) return gather;
  Traffic sum = one_pass(algorithm, whole, ranks, ranks_per_node);
  if (operation == Operation::AllReduce) {
    sum.into_node += gather.into_node;
    sum.into_rank += gather.into_rank;
    sum.through_pair += gather.through_pair;
  }
  return sum;
}

Seconds bound(const Traffic& traffic, const net::Profile& profile) {
  Seconds time{0};
  if (traffic.into_node > Bytes{0}) time = traffic.into_node / profile.usable_rate() + profile.latency;
  if (traffic.through_pair > Bytes{0} && profile.stream_rate > BytesPerSecond{0}) {
    time = std::max(time, traffic.through_pair / profile.stream_rate + profile.latency);
  }
  if (traffic.into_rank > Bytes{0}) time = std::max(time, traffic.into_rank / profile.in_node_rate + profile.in_node_latency);
  return time;
}

}  // namespace twinax::collective
