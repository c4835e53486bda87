#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/fsdp/flat_parameter.hpp"
#include "twinax/fsdp/limiter.hpp"
#include "twinax/fsdp/strategy.hpp"
#include "twinax/nn/model.hpp"
#include "twinax/step/graph.hpp"

namespace twinax::fsdp {

/// What a step's graph is built from: plain data, so that graphs of any size can be built and checked without a model or a network.
struct StepPlan {
  std::vector<std::string> unit_names;
  std::vector<ShardLayout> layouts;  ///< by unit; unit 0 is the root
  std::vector<nn::Stage> stages;
  std::vector<Flops> forward_flops;  ///< by stage, of one micro-batch of this rank
  std::vector<Flops> backward_flops;
  std::int64_t micro_batches = 1;
  int ranks = 1;
  int ranks_per_node = 1;  ///< of all nodes; read for Strategy::Hybrid alone
  Strategy strategy = Strategy::Full;
  Limiter limiter = Limiter::Window;
  std::int64_t limit = 0;  ///< units in each of the two pools; 0 = unlimited
  Bytes limit_bytes{0};    ///< in each of the two pools, of a limiter by bytes
  step::WaitSide limiter_side = step::WaitSide::Host;
  std::int64_t prefetch = 1;  ///< gathers issued ahead of the unit in use
  BackwardPrefetch backward_prefetch = BackwardPrefetch::Pre;
  Accumulate accumulate = Accumulate::Reduce;
  bool checkpoint = false;             ///< blocks keep their input alone, and are run forward again before backward
  Dtype wire = Dtype::Fp32;            ///< of gathers
  std::optional<Dtype> reduce_wire{};  ///< of reductions; none = as gathers
  /// The element types of reductions on the wire: over a unit's shards, and over its replicas. Int8 is for the slower of two levels.
  [[nodiscard]] Dtype shards_reduce_in() const {
    const bool is_hybrid = strategy == Strategy::Hybrid && replicas() > 1;
    return is_hybrid && replicas_reduce_in() == Dtype::Int8 ? Dtype::Fp32 : replicas_reduce_in();
  }
  [[nodiscard]] Dtype replicas_reduce_in() const { return reduce_wire.value_or(wire); }
  /// Whether whole gradients of sharded blocks stay from micro-batch to micro-batch.
  [[nodiscard]] bool keeps_gradients() const { return accumulate == Accumulate::Local && micro_batches > 1; }
  /// How many ranks a unit is sharded over.
  [[nodiscard]] int shards() const { return strategy == Strategy::Replicate ? 1 : strategy == Strategy::Hybrid ? ranks_per_node : ranks; }
  /// How many ranks hold the same shard.
  [[nodiscard]] int replicas() const { return ranks / shards(); }
  /// Whether parameters stay whole on every rank, so that nothing is gathered.
  [[nodiscard]] bool is_resident() const { return shards() == 1; }
};

/// What the ops of a step do. Called on the lanes.
class StepBodies {
 public:
  StepBodies() = default;
  StepBodies(const StepBodies&) = delete;
  StepBodies& operator=(const StepBodies&) = delete;
  virtual ~StepBodies() = default;
  /// Fills whole [padded] from the ranks' shards. Collective lane.
  virtual void gather(int unit, std::span<float> whole) = 0;
  /// Runs a stage of a micro-batch; `whole` is empty where parameters are resident. Compute lane.
  virtual void forward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole) = 0;
  /// Runs a block's stage forward again in the micro-batch of its backward, which needs what a forward leaves behind. Compute lane.
  virtual void recompute(std::size_t stage, std::span<const float> whole) = 0;
  /// The same backward; `gradients` [padded] (empty where resident) is cleared first if `is_first`. Compute lane.
  virtual void backward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole, std::span<float> gradients,
                        bool is_first) = 0;
  /// Sums the unit's gradients [padded] over the ranks that it is sharded over into the shard's gradient: adds, unless `is_first`.
  /// Collective lane.
  virtual void reduce(int unit, std::span<float> gradients, bool is_first) = 0;
  /// Sums the gradient of the unit's shard over its replicas. Collective lane.
  virtual void reduce_replicas(int unit) = 0;
  /// Sums loss, tokens and squared norms over the ranks. Collective lane.
  virtual void total() = 0;
  /// This rank's part of the squared norm of the gradients. Compute lane.
  virtual void norm() = 0;
  /// Clips and applies the optimizer to the unit's shard. Compute lane.
  virtual void optimize(int unit) = 0;
};

/// What an op belongs to, for costs; -1 where it belongs to none.
struct OpStage {
  int stage = -1;
  std::int64_t micro_batch = -1;
  bool is_between_replicas = false;  ///< a reduction over a shard's replicas
};

/// A graph with what its readers need to know of it.
struct BuiltStep {
  step::StepGraph graph;
  std::optional<step::PoolId> gathered;    ///< units gathered and not yet released (root apart)
  std::optional<step::PoolId> reductions;  ///< gradient buffers not yet reduced (root apart)
  std::vector<OpStage> stages;             ///< by op
};

/// Builds a training step: gathers, forward, backward, reductions, norm, optimizer. `bodies` may be null: a graph to check, plan or draw.
///
/// The limiter has two pools: a gather takes of one until its unit is released, a backward of the other until its gradients are reduced.
/// What is kept through the step by choice (units by Strategy::Keep, gradients by Accumulate::Local) is counted, not limited. Throws
/// InvalidArgument if the plan's parts disagree, or the limiter can't hold a unit.
[[nodiscard]] BuiltStep build_training_step(const StepPlan& plan, StepBodies* bodies);

/// Builds a forward pass over one micro-batch.
[[nodiscard]] BuiltStep build_evaluation_step(const StepPlan& plan, StepBodies* bodies);

}  // namespace twinax::fsdp
