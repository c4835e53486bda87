#pragma once

#include "twinax/base/units.hpp"
#include "twinax/step/graph.hpp"
#include "twinax/step/timeline.hpp"

namespace twinax::step {

/// What an op costs: the interface that measured, bounded and predicted costs implement.
class Cost {
 public:
  Cost() = default;
  Cost(const Cost&) = delete;
  Cost& operator=(const Cost&) = delete;
  virtual ~Cost() = default;
  /// How long the op takes, once it runs.
  [[nodiscard]] virtual Seconds seconds(const StepGraph& graph, OpId op) const = 0;
};

/// How the virtual executor runs.
struct VirtualOptions {
  bool unlimited_credits = false;  ///< for lower bounds
  Seconds issue{0};                ///< what the issuing thread takes for each op
};

/// Runs a graph in virtual time, deterministically: same rules of issue, credits and lanes as the live executor.
[[nodiscard]] StepRun run_virtual(const StepGraph& graph, const Cost& cost, const VirtualOptions& options);

}  // namespace twinax::step
