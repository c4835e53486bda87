#pragma once

#include <memory>
#include <string>

#include "twinax/collective/collectives.hpp"
#include "twinax/fsdp/measure_compute.hpp"
#include "twinax/net/bootstrap.hpp"

#include "app/training_run.hpp"
#include "app/workload.hpp"

namespace twinax::app {

/// The world's ranks that take part in a run.
[[nodiscard]] collective::Group group_of(const net::World& world, const RunRequest& request);

/// How many ranks a unit is sharded over.
[[nodiscard]] int shards_of(const Config& config, const net::World& world, int ranks);

/// Makes this rank choose a backend for each of its matrix products where `request` gives none, by computing once what is measured later:
/// memory that is too small for that shows here. Not collective. Throws OutOfBudget.
void choose_products(const net::World& world, const RunRequest& request, Workload& workload, int ranks);

/// What both measuring and training begin with: the model, the choices agreed, the computing timed with all ranks at it.
struct Prepared {
  /// After choose_products(). Collective on the group.
  Prepared(net::World& world, const RunRequest& request, Workload& its_workload, const collective::Group& group);

  Workload& workload;
  int shards;
  std::unique_ptr<collective::Collectives> control;
  std::string choices;
  fsdp::ComputeTimes times;
  FlopsPerSecond rate{0};  ///< the median over the ranks
};

}  // namespace twinax::app
