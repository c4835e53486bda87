#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "twinax/base/dtype.hpp"
#include "twinax/collective/group.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::collective {

/// Operations of a group of ranks. Each is called by all members in the same order, blocks until this rank's part is done, and is run by
/// one lane; nothing is allocated in a call once the largest size has been seen. Threads: one at a time.
///
/// Wire: `Dtype::Bf16` rounds each contribution once on its way; sums are kept in fp32 and are the same bits on all ranks. So does
/// `Dtype::Int8`, in blocks of 64 values with one scale each; sums that it sends to all travel as bf16.
class Collectives {
 public:
  Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  virtual ~Collectives() = default;

  /// The members.
  [[nodiscard]] virtual const Group& group() const = 0;

  /// Gathers every rank's shard, so that all ranks hold the whole buffer in group order.
  ///
  /// Shapes:     shard [n], whole [size * n]; shard may be this rank's slice of whole.
  /// Units:      with less than fp32 on the wire all of whole is rounded to it, the own slice too: all ranks compute with the same values.
  /// Throws:     InvalidArgument if the sizes disagree; PeerLost.
  virtual void all_gather(std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) = 0;

  /// Sums `whole` over the ranks and leaves each with its slice of the sum.
  ///
  /// Shapes:     whole [size * n] (clobbered), shard [n]; shard is no part of whole.
  /// Throws:     InvalidArgument if the sizes disagree; PeerLost.
  virtual void reduce_scatter(std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) = 0;

  /// Sums over the ranks, in place; the same bits on all ranks. Any length, also one not divisible by size.
  virtual void all_reduce(std::span<float> values, Dtype wire, net::Purpose purpose) = 0;
  /// The same in fp64, for losses, norms and counters: small.
  virtual void all_reduce(std::span<double> values, net::Purpose purpose) = 0;

  /// Gathers equal pieces of bytes; mine [n], all [size * n].
  virtual void all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) = 0;
  /// Sends the root's data to all; `root` is a group index.
  virtual void broadcast(std::span<std::byte> data, int root, net::Purpose purpose) = 0;
  /// Returns when all have arrived.
  virtual void barrier() = 0;
};

}  // namespace twinax::collective
