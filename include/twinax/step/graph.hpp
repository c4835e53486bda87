#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "twinax/step/op.hpp"

namespace twinax::step {

/// A bounded pool of credits.
struct PoolSpec {
  std::string name;           ///< "gathered units"
  std::int64_t capacity = 0;  ///< 0 = unlimited (still counted)
};

/// Memory that lives from its producer's issue to its releaser's completion.
struct BufferSpec {
  std::string name;
  Bytes size{0};
  LaneKind lane = LaneKind::Collective;  ///< whose pool of the arena it comes from
};

/// One step as data: ops in program order, their credits and buffers. Three interpreters run it.
class StepGraph {
 public:
  /// Adds a pool.
  PoolId add_pool(PoolSpec pool);
  /// Adds a buffer.
  BufferId add_buffer(BufferSpec buffer);
  /// Adds an op at the end of the program order. Throws InvalidArgument for an index that does not exist or an `after` that points ahead.
  OpId add(Op op);

  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::span<const PoolSpec> pools() const { return pools_; }
  [[nodiscard]] std::span<const BufferSpec> buffers() const { return buffers_; }
  [[nodiscard]] const Op& operator[](OpId id) const { return ops_[id.index]; }

 private:
  std::vector<Op> ops_;
  std::vector<PoolSpec> pools_;
  std::vector<BufferSpec> buffers_;
};

}  // namespace twinax::step
