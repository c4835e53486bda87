#include "twinax/collective/traffic.hpp"

#include <algorithm>

namespace twinax::collective {
namespace {

Traffic one_pass(bool is_ring, Bytes whole, int ranks, int ranks_per_node) {
  const std::int64_t piece = whole.value / ranks;
  const int in_node = std::min(ranks, ranks_per_node);
  const int foreign = ranks - in_node;
  const Bytes round{piece * (ranks - 1)};
  Traffic traffic;
  if (is_ring) {
    // Every edge of the ring carries the same; a node has one that comes in, and in_node - 1 (or, alone, all) inside.
    if (foreign > 0) traffic.into_node = traffic.through_pair = round;
    if (in_node > 1) traffic.into_rank = round;
  } else {
    traffic.into_node = Bytes{piece * in_node * foreign};
    if (foreign > 0) traffic.through_pair = Bytes{piece};
    traffic.into_rank = Bytes{piece * (in_node - 1)};
  }
  return traffic;
}

}  // namespace

Traffic traffic(Operation operation, std::string_view algorithm, Bytes whole, int ranks, int ranks_per_node) {
  const bool is_ring = algorithm == "ring";
  if (operation == Operation::Broadcast) {
    const int in_node = std::min(ranks, ranks_per_node);
    return {.into_node = ranks > in_node ? whole : Bytes{0},
            .into_rank = in_node > 1 ? whole : Bytes{0},
            .through_pair = ranks > in_node ? whole : Bytes{0}};
  }
  if (operation == Operation::AllGather) return one_pass(true, whole, ranks, ranks_per_node);
  Traffic sum = one_pass(is_ring, whole, ranks, ranks_per_node);
  if (operation == Operation::AllReduce) {
    const Traffic gather = one_pass(true, whole, ranks, ranks_per_node);
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
