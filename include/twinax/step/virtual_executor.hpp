#pragma once

#include "twinax/base/units.hpp"
#include "twinax/step/cost.hpp"
#include "twinax/step/graph.hpp"
#include "twinax/step/timeline.hpp"

namespace twinax::step {

/// How the virtual executor runs.
struct VirtualOptions {
  bool unlimited_credits = false;  ///< for lower bounds
  Seconds issue{0};                ///< what the issuing thread takes for each op
};

/// Runs a graph in virtual time, deterministically: same rules of issue, credits and lanes as the live executor.
[[nodiscard]] StepRun run_virtual(const StepGraph& graph, const Cost& cost, const VirtualOptions& options);

}  // namespace twinax::step
