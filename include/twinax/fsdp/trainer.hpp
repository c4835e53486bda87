#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/base/error.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/flat_parameter.hpp"
#include "twinax/fsdp/sharded_adamw.hpp"
#include "twinax/fsdp/strategy.hpp"
#include "twinax/nn/model.hpp"
#include "twinax/step/live_executor.hpp"

namespace twinax::fsdp {

/// How a model is trained.
struct TrainerOptions {
  Strategy strategy = Strategy::Full;
  Limiter limiter = Limiter::Window;
  std::int64_t limit = 2;
  Bytes limit_bytes{0};  ///< of Limiter::Bytes
  step::WaitSide limiter_side = step::WaitSide::Host;
  std::int64_t prefetch = 1;
  BackwardPrefetch backward_prefetch = BackwardPrefetch::Pre;
  Accumulate accumulate = Accumulate::Reduce;
  bool checkpoint = false;             ///< blocks are run forward again before backward: for a model made to need it, and any other
  Dtype wire = Dtype::Fp32;            ///< of gathers
  std::optional<Dtype> reduce_wire{};  ///< of reductions; none = as gathers
  std::uint64_t seed = 1;
  std::int64_t micro_batch = 1;    ///< sequences computed at once, at most
  std::int64_t micro_batches = 1;  ///< of a step; the same on all ranks
  AdamwOptions optimizer;
};

/// The groups of ranks that a trainer works over; all outlive it.
struct RankGroups {
  collective::Collectives& all;
  collective::Collectives* node = nullptr;    ///< the ranks of this one's node: for Strategy::Hybrid, which shards units over them
  collective::Collectives* across = nullptr;  ///< the ranks that have this one's place in their nodes, node by node: for Strategy::Hybrid
};

/// This rank's part of a step's batch. tokens [sequences, row().tokens()].
struct RankBatch {
  std::span<const std::int32_t> tokens;
  std::int64_t sequences = 0;      ///< at most micro_batch * micro_batches; 0 is allowed
  std::int64_t length = 0;         ///< as in nn::RowShape
  std::int64_t global_tokens = 0;  ///< targets of the whole step over all ranks: what the loss is the mean over
  std::int64_t targets = 0;        ///< as in nn::RowShape
  /// What each row holds.
  [[nodiscard]] nn::RowShape row() const { return {length, targets}; }
};

/// What a step did; loss, tokens and norm are of all ranks, the run is this rank's.
struct StepOutcome {
  step::StepRun run;
  double loss = 0;           ///< nats a token, mean over the global batch
  double gradient_norm = 0;  ///< global, before clipping
  double learning_rate = 0;
  std::int64_t tokens = 0;
  bool skipped = false;  ///< the norm was not finite: no update was made
};

/// A step that went over the memory budget on some rank: all ranks throw it, with the same message, when the step is over.
class StepOutOfBudget : public OutOfBudget {
 public:
  StepOutOfBudget(int rank, const std::string& shortage)
      : OutOfBudget("rank " + std::to_string(rank) + ": " + shortage), rank_(rank), shortage_(shortage) {}
  /// The first rank that went over, and what it says of it.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::string& shortage() const { return shortage_; }

 private:
  int rank_;
  std::string shortage_;
};

/// Trains a model whose units are sharded, replicated or both over a group of ranks, by running one step graph a step.
///
/// Construction, step, evaluate and whole_* are collective on the group. Threads: one at a time.
class Trainer {
 public:
  /// The references outlive the trainer; its state comes from the executor's arena. Throws InvalidArgument if the schedule can't work (a
  /// limit of 0 with a window, say), OutOfBudget if the memory budget doesn't hold the state.
  Trainer(nn::Model<float>& model, collective::Collectives& collectives, step::LiveExecutor& executor, const TrainerOptions& options);
  /// The same with the groups that Strategy::Hybrid needs: all ranks are those of equal nodes, one node after the other.
  Trainer(nn::Model<float>& model, const RankGroups& groups, step::LiveExecutor& executor, const TrainerOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Runs one training step. If a rank goes over its memory budget, no update is made, and all throw StepOutOfBudget; so do the other
  /// runs.
  StepOutcome step(std::int64_t step, const RankBatch& batch);
  /// Computes a step's loss and gradients without the update: for checking.
  StepOutcome gradients_only(std::int64_t step, const RankBatch& batch);
  /// Loss of a batch of at most `micro_batch` sequences, without training.
  StepOutcome evaluate(std::int64_t step, const RankBatch& batch);

  /// A unit's whole parameters or (after gradients_only) gradients, fp32, without padding.
  [[nodiscard]] std::vector<float> whole_parameters(std::size_t unit);
  [[nodiscard]] std::vector<float> whole_gradients(std::size_t unit);

  /// The persistent state of this rank: parameters, gradients, moments.
  [[nodiscard]] Bytes state_bytes() const;
  /// The training step's graph.
  [[nodiscard]] const BuiltStep& built() const;
  /// The plan it was built from.
  [[nodiscard]] const StepPlan& plan() const;

 private:
  class Bodies;
  std::unique_ptr<Bodies> bodies_;
};

}  // namespace twinax::fsdp
