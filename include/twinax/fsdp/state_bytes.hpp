#pragma once

#include <cstddef>
#include <cstdint>

#include "twinax/base/units.hpp"
#include "twinax/fsdp/build_step.hpp"
#include "twinax/step/arena.hpp"

namespace twinax::fsdp {

/// What a rank keeps of a model from step to step.
struct StateBytes {
  Bytes parameters{0};
  Bytes gradients{0};
  Bytes moments{0};
  Bytes residuals{0};  ///< of int8 reductions, for error feedback
  [[nodiscard]] Bytes total() const { return parameters + gradients + moments + residuals; }
};

/// The state of a plan's units.
[[nodiscard]] StateBytes state_bytes(const StepPlan& plan);

/// How many values of a unit an int8 reduction sends from this rank, what is lost of which is kept; 0 where none is.
[[nodiscard]] std::int64_t residual_values(const StepPlan& plan, std::size_t unit);

/// Throws OutOfBudget if the arena's budget can't hold the plan's state beside what it holds already: what takes how much, and what another
/// strategy would.
void check_state_fits(const StepPlan& plan, const step::Arena& arena);

}  // namespace twinax::fsdp
