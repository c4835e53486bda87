#include "collective/rows.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/collective/wire.hpp"

#include "collective/algorithms.hpp"
#include "collective/codec.hpp"
#include "collective/direct/algorithms.hpp"

namespace twinax::collective {
namespace {

template <class Run>
struct Row {
  std::string_view name, help;
  Run run;
};

/// A gather of bytes in place, of pieces as they are on the wire.
template <auto gather>
void gather_encoded(Means& means, std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) {
  const std::size_t n = shard.size();
  const std::size_t at = static_cast<std::size_t>(means.channel.index()) * n;
  if (wire == Dtype::Fp32) {
    if (n > 0 && whole.data() + at != shard.data()) std::memcpy(whole.data() + at, shard.data(), n * sizeof(float));
    gather(means, std::as_writable_bytes(whole), purpose);
    return;
  }
  const auto size = static_cast<std::size_t>(means.channel.size());
  const auto piece = static_cast<std::size_t>(wire_size(std::ssize(shard), wire).value);
  const std::span<std::byte> encoded = grown(means.encoded, size * piece);
  encode(shard, encoded.subspan(static_cast<std::size_t>(means.channel.index()) * piece, piece), wire);
  gather(means, encoded, purpose);
  for (std::size_t k = 0; k < size; ++k) decode(encoded.subspan(k * piece, piece), whole.subspan(k * n, n), wire);
}

void gather_ring(Means& means, std::span<std::byte> whole, net::Purpose purpose) {
  all_gather_ring(means.channel, whole, purpose);
}
void gather_exchange(Means& means, std::span<std::byte> whole, net::Purpose purpose) {
  const std::size_t n = whole.size() / static_cast<std::size_t>(means.channel.size());
  all_gather_exchange(means.channel, whole.subspan(static_cast<std::size_t>(means.channel.index()) * n, n), whole, purpose);
}
void gather_recursive(Means& means, std::span<std::byte> whole, net::Purpose purpose) {
  all_gather_recursive(means.channel, whole, purpose);
}
void gather_hierarchical(Means& means, std::span<std::byte> whole, net::Purpose purpose) {
  all_gather_hierarchical(means.channel, means.layout, whole, purpose);
}
void gather_direct(Means& means, std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) {
  // Compressed contributions are for wires: members that read each other's memory know no int8.
  if (wire == Dtype::Int8 || !direct::all_gather(*means.team, shard, whole, wire, purpose))
    gather_encoded<gather_ring>(means, shard, whole, wire, purpose);
}

void reduce_pairwise(Means& means, std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) {
  reduce_scatter_pairwise(means.channel, whole, shard, means.contributions, wire, purpose);
}
/// Algorithms in which partial sums travel do so in fp32; with less on the wire contributions travel instead.
template <auto reduce>
void reduce_sums(Means& means, std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Fp32) {
    reduce(means, whole, shard, purpose);
  } else {
    reduce_pairwise(means, whole, shard, wire, purpose);
  }
}
void reduce_ring(Means& means, std::span<float> whole, std::span<float> shard, net::Purpose purpose) {
  if (means.sums.size() < 2 * shard.size()) means.sums.resize(2 * shard.size());
  reduce_scatter_ring(means.channel, whole, shard, means.sums, purpose);
}
void reduce_recursive(Means& means, std::span<float> whole, std::span<float> shard, net::Purpose purpose) {
  reduce_scatter_recursive(means.channel, whole, shard, means.sums, purpose);
}
void reduce_hierarchical(Means& means, std::span<float> whole, std::span<float> shard, net::Purpose purpose) {
  reduce_scatter_hierarchical(means.channel, means.layout, whole, shard, means.sums, purpose);
}
void reduce_direct(Means& means, std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Int8 || !direct::reduce_scatter(*means.team, whole, shard, wire, purpose))
    reduce_pairwise(means, whole, shard, wire, purpose);
}

template <ReduceScatter reduce, AllGather gather>
void sum_padded(Means& means, std::span<float> values, Dtype wire, net::Purpose purpose) {
  means.padded.run(
      means.channel.size(), values, [&](std::span<float> whole, std::span<float> sum) { reduce(means, whole, sum, wire, purpose); },
      [&](std::span<const float> sum, std::span<float> whole) { gather(means, sum, whole, sum_wire(wire), purpose); });
}
constexpr AllReduce kSumPairwise = sum_padded<reduce_pairwise, gather_encoded<gather_ring>>;

void sum_exchange(Means& means, std::span<float> values, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Fp32) {
    all_reduce_exchange(means, values, purpose);
  } else {
    kSumPairwise(means, values, wire, purpose);
  }
}
void sum_recursive(Means& means, std::span<float> values, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Fp32) {
    all_reduce_recursive(means.channel, values, means.sums, purpose);
  } else {
    kSumPairwise(means, values, wire, purpose);
  }
}
void sum_hierarchical(Means& means, std::span<float> values, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Fp32) {
    sum_padded<reduce_sums<reduce_hierarchical>, gather_encoded<gather_hierarchical>>(means, values, wire, purpose);
  } else {
    kSumPairwise(means, values, wire, purpose);
  }
}
void sum_direct(Means& means, std::span<float> values, Dtype wire, net::Purpose purpose) {
  if (wire == Dtype::Int8 || !direct::all_reduce(*means.team, values, wire, purpose)) kSumPairwise(means, values, wire, purpose);
}

void spread_tree(Means& means, std::span<std::byte> data, int root, net::Purpose purpose) {
  broadcast_tree(means.channel, data, root, purpose);
}
void spread_direct(Means& means, std::span<std::byte> data, int root, net::Purpose purpose) {
  if (!direct::broadcast(*means.team, data, root, purpose)) broadcast_tree(means.channel, data, root, purpose);
}

constexpr std::string_view kDirectHelp = "members of one node read each other's memory in place";
constexpr std::string_view kHierarchicalHelp = "inside nodes of equal size apart from between them: the fewest bytes into each node";

constexpr std::array kAllGathers{
    Row<AllGather>{"ring", "pieces travel round a ring", gather_encoded<gather_ring>},
    Row<AllGather>{"exchange", "everyone sends its piece to everyone: one step, for small pieces", gather_encoded<gather_exchange>},
    Row<AllGather>{"recursive", "recursive doubling: log2 of the ranks steps, for small pieces", gather_encoded<gather_recursive>},
    Row<AllGather>{"direct", kDirectHelp, gather_direct},
    Row<AllGather>{"hierarchical", kHierarchicalHelp, gather_encoded<gather_hierarchical>}};
constexpr std::array kReduceScatters{
    Row<ReduceScatter>{"ring", "partial sums travel round a ring; with bf16 on the wire, pairwise is used", reduce_sums<reduce_ring>},
    Row<ReduceScatter>{"pairwise", "every contribution goes straight to where it is summed: no rounding of sums, one step",
                       reduce_pairwise},
    Row<ReduceScatter>{"recursive", "recursive halving: log2 of the ranks steps, for small pieces", reduce_sums<reduce_recursive>},
    Row<ReduceScatter>{"direct", kDirectHelp, reduce_direct},
    Row<ReduceScatter>{"hierarchical", kHierarchicalHelp, reduce_sums<reduce_hierarchical>}};
constexpr std::array kAllReduces{
    Row<AllReduce>{"ring", "a reduce-scatter and an all-gather by rings",
                   sum_padded<reduce_sums<reduce_ring>, gather_encoded<gather_ring>>},
    Row<AllReduce>{"pairwise", "a pairwise reduce-scatter and an all-gather by a ring", kSumPairwise},
    Row<AllReduce>{"exchange", "everyone sends everything to everyone and sums it: one step, for small data", sum_exchange},
    Row<AllReduce>{"recursive", "recursive doubling of whole sums: log2 of the ranks steps, for small data", sum_recursive},
    Row<AllReduce>{"direct", kDirectHelp, sum_direct},
    Row<AllReduce>{"hierarchical", kHierarchicalHelp, sum_hierarchical}};
constexpr std::array kBroadcasts{Row<Broadcast>{"tree", "a binomial tree from the root", spread_tree},
                                 Row<Broadcast>{"direct", kDirectHelp, spread_direct}};

template <class Rows>
std::vector<AlgorithmRow> listed(const Rows& rows) {
  std::vector<AlgorithmRow> list;
  for (const auto& row : rows) list.push_back({row.name, row.help});
  return list;
}

template <class Rows>
auto run_of(const Rows& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row.run;
  }
  throw InvalidArgument("there is no collective algorithm \"" + std::string(name) + "\"");
}

template <class Real>
void exchange_and_sum(Means& means, std::span<Real> values, net::Purpose purpose) {
  const auto size = static_cast<std::size_t>(means.channel.size());
  const std::span<std::byte> all = grown(means.encoded, values.size_bytes() * size);
  all_gather_exchange(means.channel, std::as_bytes(values), all, purpose);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Real sum = 0;
    for (std::size_t r = 0; r < size; ++r) {
      Real part = 0;
      std::memcpy(&part, all.data() + (r * values.size() + i) * sizeof(Real), sizeof(Real));
      sum += part;
    }
    values[i] = sum;
  }
}

}  // namespace

std::span<const AlgorithmRow> algorithms_of(Operation operation) {
  static const std::array<std::vector<AlgorithmRow>, kOperations.size()> lists{listed(kAllGathers), listed(kReduceScatters),
                                                                               listed(kAllReduces), listed(kBroadcasts)};
  return lists.at(static_cast<std::size_t>(operation));
}

bool is_able(std::string_view algorithm, const Means& means) {
  if (algorithm == "direct") return means.team != nullptr;
  if (algorithm == "hierarchical") return NodeLayout::is_hierarchy(means.channel.size(), means.layout.ranks_per_node);
  if (algorithm == "recursive") return std::has_single_bit(static_cast<unsigned>(means.channel.size()));
  return true;
}

std::string_view fallback_of(Operation operation, std::string_view algorithm) {
  if (operation == Operation::Broadcast) return "tree";
  // The same bits as direct sums.
  return algorithm == "direct" && operation != Operation::AllGather ? "pairwise" : "ring";
}

AllGather all_gather_by(std::string_view algorithm) {
  return run_of(kAllGathers, algorithm);
}
ReduceScatter reduce_scatter_by(std::string_view algorithm) {
  return run_of(kReduceScatters, algorithm);
}
AllReduce all_reduce_by(std::string_view algorithm) {
  return run_of(kAllReduces, algorithm);
}
Broadcast broadcast_by(std::string_view algorithm) {
  return run_of(kBroadcasts, algorithm);
}

void all_reduce_exchange(Means& means, std::span<float> values, net::Purpose purpose) {
  exchange_and_sum(means, values, purpose);
}
void all_reduce_exchange(Means& means, std::span<double> values, net::Purpose purpose) {
  exchange_and_sum(means, values, purpose);
}

}  // namespace twinax::collective
