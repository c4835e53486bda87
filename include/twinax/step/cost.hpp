#pragma once

#include "twinax/base/units.hpp"
#include "twinax/step/graph.hpp"

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

}  // namespace twinax::step
