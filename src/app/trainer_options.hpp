#pragma once

#include "twinax/base/config.hpp"
#include "twinax/fsdp/trainer.hpp"

#include "app/workload.hpp"

namespace twinax::app {

/// How a configuration trains a workload.
[[nodiscard]] fsdp::TrainerOptions trainer_options(const Config& config, const Workload& workload);

}  // namespace twinax::app
