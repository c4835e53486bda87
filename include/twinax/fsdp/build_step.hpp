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
  Strategy strategy = Strategy::Full;
  Limiter limiter = Limiter::Window;
  std::int64_t limit = 0;  ///< units in each of the two pools; 0 = unlimited
  Bytes limit_bytes{0};    ///< in each of the two pools, of a limiter by bytes
  step::WaitSide limiter_side = step::WaitSide::Host;
  std::int64_t prefetch = 1;  ///< gathers issued ahead of the unit in use
  Dtype wire = Dtype::Fp32;
  /// Whether parameters stay whole on every rank, so that nothing is gathered: replicate, or one rank alone.
  [[nodiscard]] bool is_resident() const { return strategy == Strategy::Replicate || ranks == 1; }
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
  /// The same backward; `gradients` [padded] (empty where resident) is cleared first if `is_first`. Compute lane.
  virtual void backward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole, std::span<float> gradients,
                        bool is_first) = 0;
  /// Sums the unit's gradients over the ranks into the shard's gradient: adds, unless `is_first`. Empty where resident. Collective lane.
  virtual void reduce(int unit, std::span<float> gradients, bool is_first) = 0;
  /// Sums loss, tokens and squared norms over the ranks. Collective lane.
  virtual void total() = 0;
  /// This rank's part of the squared norm of the gradients. Compute lane.
  virtual void norm() = 0;
  /// Clips and applies the optimizer to the unit's shard. Compute lane.
  virtual void optimize(int unit) = 0;
};

/// Which stage an op belongs to, for costs; -1 where it belongs to none.
struct OpStage {
  int stage = -1;
  std::int64_t micro_batch = -1;
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
/// Throws InvalidArgument if the plan's parts disagree, or the limiter can't hold a unit.
[[nodiscard]] BuiltStep build_training_step(const StepPlan& plan, StepBodies* bodies);

/// Builds a forward pass over one micro-batch.
[[nodiscard]] BuiltStep build_evaluation_step(const StepPlan& plan, StepBodies* bodies);

}  // namespace twinax::fsdp
