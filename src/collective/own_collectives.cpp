#include "twinax/collective/own_collectives.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"

#include "collective/algorithms.hpp"
#include "collective/channel.hpp"
#include "collective/codec.hpp"
#include "collective/padded_all_reduce.hpp"
#include "collective/sizes.hpp"

namespace twinax::collective {
namespace {

/// All-reduces of at most this many bytes take one step instead of 2 (P - 1).
constexpr std::size_t kDirectBytes = 4096;

class OwnCollectives final : public Collectives {
 public:
  OwnCollectives(net::Transport& transport, Group group, const OwnOptions& options)
      : channel_(transport, std::move(group), options.lane, options.segment, options.activity, options.clock),
        pairwise_(options.algorithm == "pairwise") {}

  [[nodiscard]] const Group& group() const override { return channel_.group(); }

  void all_gather(std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) override {
    check_pieces("all-gather", shard.size(), whole.size(), channel_.size());
    const std::size_t n = shard.size();
    const std::size_t at = static_cast<std::size_t>(channel_.index()) * n;
    if (wire == Dtype::Fp32) {
      if (n > 0 && whole.data() + at != shard.data()) std::memcpy(whole.data() + at, shard.data(), n * sizeof(float));
      all_gather_ring(channel_, std::as_writable_bytes(whole), purpose);
      return;
    }
    const std::size_t width = static_cast<std::size_t>(size_of(wire).value);
    const std::span<std::byte> encoded = grown(encoded_, whole.size() * width);
    encode(shard, encoded.subspan(at * width, n * width), wire);
    all_gather_ring(channel_, encoded, purpose);
    decode(encoded, whole, wire);
  }

  void reduce_scatter(std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) override {
    check_pieces("reduce-scatter", shard.size(), whole.size(), channel_.size());
    if (wire == Dtype::Fp32 && !pairwise_) {
      if (arrived_.size() < 2 * shard.size()) arrived_.resize(2 * shard.size());
      reduce_scatter_ring(channel_, whole, shard, arrived_, purpose);
    } else {
      reduce_scatter_pairwise(channel_, whole, shard, contributions_, wire, purpose);
    }
  }

  void all_reduce(std::span<float> values, Dtype wire, net::Purpose purpose) override {
    if (values.size_bytes() <= kDirectBytes && wire == Dtype::Fp32) {
      sum_direct(values, purpose);
    } else {
      padded_.run(*this, values, wire, purpose);
    }
  }

  void all_reduce(std::span<double> values, net::Purpose purpose) override { sum_direct(values, purpose); }

  void all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) override {
    check_pieces("all-gather of bytes", mine.size(), all.size(), channel_.size());
    all_gather_direct(channel_, mine, all, purpose);
  }

  void broadcast(std::span<std::byte> data, int root, net::Purpose purpose) override {
    check_root(root, channel_.size());
    broadcast_tree(channel_, data, root, purpose);
  }

  void barrier() override { barrier_dissemination(channel_); }

 private:
  static std::span<std::byte> grown(std::vector<std::byte>& scratch, std::size_t size) {
    if (scratch.size() < size) scratch.resize(size);
    return std::span(scratch).first(size);
  }

  /// Gathers everyone's values and sums them in the group's order.
  template <class Real>
  void sum_direct(std::span<Real> values, net::Purpose purpose) {
    const auto size = static_cast<std::size_t>(channel_.size());
    const std::span<std::byte> all = grown(encoded_, values.size_bytes() * size);
    all_gather_direct(channel_, std::as_bytes(values), all, purpose);
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

  Channel channel_;
  bool pairwise_;
  // Scratch, grown to the largest operation seen.
  std::vector<std::byte> encoded_, contributions_;
  std::vector<float> arrived_;
  PaddedAllReduce padded_;
};

}  // namespace

std::unique_ptr<Collectives> make_own(net::Transport& transport, Group group, const OwnOptions& options) {
  if (std::ranges::find(kAlgorithms, options.algorithm, &AlgorithmRow::name) == kAlgorithms.end()) {
    throw InvalidArgument("the collective algorithm \"" + options.algorithm + "\" is not known: ring or pairwise");
  }
  return std::make_unique<OwnCollectives>(transport, std::move(group), options);
}

}  // namespace twinax::collective
