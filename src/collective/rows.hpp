#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/net/transport.hpp"

#include "collective/channel.hpp"
#include "collective/circle.hpp"
#include "collective/direct/team.hpp"
#include "collective/padded_all_reduce.hpp"

namespace twinax::collective {

/// What an algorithm works with: ways to its peers, and scratch that is kept, grown to the largest operation seen.
struct Means {
  Channel channel;
  NodeLayout layout;
  std::unique_ptr<direct::Team> team;  ///< null where members can't read each other's memory
  std::vector<std::byte> encoded{}, contributions{};
  std::vector<float> sums{};
  PaddedAllReduce padded{};
};

/// Whether an algorithm of this name can run with these means; else `fallback_of` can.
[[nodiscard]] bool is_able(std::string_view algorithm, const Means& means);
[[nodiscard]] std::string_view fallback_of(Operation operation, std::string_view algorithm);

using AllGather = void (*)(Means&, std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose);
using ReduceScatter = void (*)(Means&, std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose);
using AllReduce = void (*)(Means&, std::span<float> values, Dtype wire, net::Purpose);
using Broadcast = void (*)(Means&, std::span<std::byte> data, int root, net::Purpose);

/// The algorithms by name, which is one of algorithms_of().
[[nodiscard]] AllGather all_gather_by(std::string_view algorithm);
[[nodiscard]] ReduceScatter reduce_scatter_by(std::string_view algorithm);
[[nodiscard]] AllReduce all_reduce_by(std::string_view algorithm);
[[nodiscard]] Broadcast broadcast_by(std::string_view algorithm);

/// Gathers everyone's values by messages and sums them in the group's order.
void all_reduce_exchange(Means& means, std::span<float> values, net::Purpose purpose);
void all_reduce_exchange(Means& means, std::span<double> values, net::Purpose purpose);

/// `scratch`, grown to `size`.
[[nodiscard]] inline std::span<std::byte> grown(std::vector<std::byte>& scratch, std::size_t size) {
  if (scratch.size() < size) scratch.resize(size);
  return std::span(scratch).first(size);
}

}  // namespace twinax::collective
