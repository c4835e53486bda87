#pragma once

#include "twinax/base/units.hpp"
#include "twinax/collective/traffic.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/fsdp/measure_compute.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/step/cost.hpp"

namespace twinax::fsdp {

/// Each op at its bound: computing as measured without communication, communication at bytes / rate + latency.
class BoundCost final : public step::Cost {
 public:
  /// `profile` null: an unshaped network, whose bound is 0. Collectives are rings (sums with less than fp32 on the wire pairwise), or
  /// hierarchical. The references outlive the cost.
  BoundCost(const BuiltStep& built, const StepPlan& plan, const ComputeTimes& times, const net::Profile* profile, int ranks_per_node,
            bool is_hierarchical = false);
  [[nodiscard]] Seconds seconds(const step::StepGraph& graph, step::OpId op) const override;
  /// max(computing, bytes / rate) of a step.
  [[nodiscard]] Seconds roofline() const;

 private:
  [[nodiscard]] Seconds communication(const step::Op& op, const OpStage& stage) const;
  [[nodiscard]] collective::Traffic traffic_of(const step::Op& op, const OpStage& stage) const;
  [[nodiscard]] collective::Traffic traffic_between_replicas(std::int64_t shard) const;
  /// The algorithms that run.
  [[nodiscard]] const char* gathers_by() const;
  [[nodiscard]] const char* sums_by(Dtype wire) const;
  const BuiltStep& built_;
  const StepPlan& plan_;
  const ComputeTimes& times_;
  const net::Profile* profile_;
  int ranks_per_node_;
  bool is_hierarchical_;
};

}  // namespace twinax::fsdp
