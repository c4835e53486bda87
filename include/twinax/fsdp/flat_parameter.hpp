#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/nn/model.hpp"
#include "twinax/tensor/kernels.hpp"

namespace twinax::fsdp {

/// How a unit's flat run is cut: shard * ranks == padded >= elements; shards are a multiple of 16 elements (one cache line).
struct ShardLayout {
  std::int64_t elements = 0;
  std::int64_t padded = 0;
  std::int64_t shard = 0;
};

/// The layout of `elements` over `ranks`.
[[nodiscard]] ShardLayout shard_layout(std::int64_t elements, int ranks);

/// The parts of [begin, begin + length) of a unit's flat run to which weight decay applies, relative to `begin`, merged and in order.
[[nodiscard]] std::vector<tensor::ElementRange> decay_ranges(const nn::UnitSpec& unit, std::int64_t begin, std::int64_t length);

/// Where sharded state lies. It outlives the state.
struct StateMemory {
  std::pmr::memory_resource* parameters = std::pmr::get_default_resource();
  std::pmr::memory_resource* gradients = std::pmr::get_default_resource();
  std::pmr::memory_resource* moments = std::pmr::get_default_resource();
  std::pmr::memory_resource* residuals = std::pmr::get_default_resource();  ///< of reductions with error feedback
};

/// One unit's persistent state on one rank: 16 bytes for each element of the shard.
class FlatParameter {
 public:
  /// Fills the shard `index` of `ranks` with the unit's initial values; moments and gradient are 0.
  FlatParameter(const nn::UnitSpec& unit, std::size_t unit_index, std::uint64_t seed, int ranks, int index, const StateMemory& memory = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const ShardLayout& layout() const { return layout_; }
  /// All of shape [layout().shard].
  [[nodiscard]] std::span<float> master() { return master_; }
  [[nodiscard]] std::span<const float> master() const { return master_; }
  [[nodiscard]] std::span<float> gradient() { return gradient_; }
  [[nodiscard]] std::span<const float> gradient() const { return gradient_; }
  [[nodiscard]] std::span<float> first_moment() { return first_moment_; }
  [[nodiscard]] std::span<float> second_moment() { return second_moment_; }
  /// Where weight decay applies in this shard.
  [[nodiscard]] std::span<const tensor::ElementRange> decays() const { return decays_; }
  /// The memory held.
  [[nodiscard]] Bytes bytes() const { return {16 * layout_.shard}; }

 private:
  std::string name_;
  ShardLayout layout_;
  std::pmr::vector<float> master_, gradient_, first_moment_, second_moment_;
  std::vector<tensor::ElementRange> decays_;
};

}  // namespace twinax::fsdp
