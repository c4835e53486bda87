#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "twinax/base/config.hpp"
#include "twinax/base/units.hpp"
#include "twinax/nn/model.hpp"

#include "app/emulation.hpp"

namespace twinax::app {

/// The model that a run stands for (emulate.model, or emulate.parameters alone).
struct StoodFor {
  std::string name;       ///< of the catalog; empty where the parameters alone are known
  double parameters = 0;  ///< of the model
  Flops sequence{0};      ///< of a sequence's training step, nothing computed twice; 0 where the parameters alone are known
  double tokens = 0;      ///< of a sequence, that are trained on; 0 where the parameters alone are known
};

/// None if the run stands for its own model. A T5 of the catalog has as many targets as inputs, as in the published runs. Throws
/// ConfigError: a name that is not in the catalog, or both keys set.
[[nodiscard]] std::optional<StoodFor> stood_for(const Config& config);

/// The memory that stands for an accelerator's: what its own leaves beside its share of the state of the model that is stood for (16 bytes
/// a parameter), made smaller as gathered parameters are (of 2 bytes there, of 4 here), and the state that a rank of this run keeps.
/// `shards`: ranks that a unit is sharded over; `nodes`: of this run, of which one stands for itself alone. Throws ConfigError without
/// emulate.model or an accelerator; OutOfBudget if the accelerator can't hold the state.
[[nodiscard]] Bytes emulated_memory(const Config& config, std::span<const nn::UnitSpec> units, int shards, int nodes);

}  // namespace twinax::app
