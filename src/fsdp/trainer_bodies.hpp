#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "twinax/collective/wire.hpp"
#include "twinax/fsdp/trainer.hpp"

namespace twinax::fsdp {

/// What a run of a graph is for.
enum class Mode : std::uint8_t { Train, GradientsOnly, Evaluate };

/// Sums over all ranks of one run.
struct Totals {
  double loss_sum = 0;
  double tokens = 0;
  double squared_norm = 0;
  double ranks_over_budget = 0;
};

/// The sharded state of a model, and what the ops of its steps do with it.
class TrainerBodies : public StepBodies {
 public:
  TrainerBodies(nn::Model<float>& model, const RankGroups& groups, step::Arena& arena, const TrainerOptions& options, StepPlan plan);

  /// Sets what the next run of a graph works on. Throws InvalidArgument if the batch does not fit the plan.
  void begin(std::int64_t step, const RankBatch& batch, Mode mode);
  /// The sums of the last run.
  [[nodiscard]] Totals totals() const { return totals_; }

  void gather(int unit, std::span<float> whole) override;
  void forward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole) override;
  void recompute(std::size_t stage, std::span<const float> whole) override;
  void backward(std::size_t stage, std::int64_t micro_batch, std::span<const float> whole, std::span<float> gradients,
                bool is_first) override;
  void reduce(int unit, std::span<float> gradients, bool is_first) override;
  void reduce_replicas(int unit) override;
  void total() override;
  void norm() override;
  void optimize(int unit) override;

  /// Throws StepOutOfBudget, with the same message on all ranks, if the last run went over the memory budget on any. Collective.
  void check_budget();
  [[nodiscard]] std::vector<float> whole(std::size_t unit, bool gradients);
  [[nodiscard]] Bytes state_bytes() const;
  [[nodiscard]] const StepPlan& plan() const { return plan_; }
  [[nodiscard]] const TrainerOptions& options() const { return options_; }

 private:
  [[nodiscard]] nn::TokenBatch micro(std::int64_t micro_batch) const;
  [[nodiscard]] FlatParameter& flat(int unit) { return flats_[static_cast<std::size_t>(unit)]; }
  void make_feedback(std::pmr::memory_resource& memory);
  /// Makes up for what rounding to the wire has lost in earlier steps.
  void correct(int unit, std::span<float> gradients);
  [[nodiscard]] std::span<const float> parameters_of(std::size_t stage, std::span<const float> whole);

  nn::Model<float>& model_;
  collective::Collectives& all_;
  collective::Collectives& shards_;    // the ranks that units are sharded over; not used where parameters are resident
  collective::Collectives& replicas_;  // the ranks that hold the same shards; not used where there is one
  TrainerOptions options_;
  StepPlan plan_;
  step::Arena& arena_;
  std::vector<FlatParameter> flats_;
  std::vector<collective::ErrorFeedback> feedback_;  // by unit, where gradients travel as int8
  std::pmr::vector<float> reduced_;                  // a shard's sum of one micro-batch, on its way to the accumulated gradient
  RankBatch batch_;
  Mode mode_ = Mode::Train;
  std::int64_t step_ = 0;
  std::int64_t updates_ = 0;
  double loss_sum_ = 0;
  double squared_norm_ = 0;
  Totals totals_;
};

}  // namespace twinax::fsdp
