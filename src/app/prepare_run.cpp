#include "app/prepare_run.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "twinax/collective/own_collectives.hpp"
#include "twinax/net/lanes.hpp"

#include "app/agreement.hpp"
#include "app/links.hpp"

namespace twinax::app {
namespace {

/// The median over the group of each rank's rate.
FlopsPerSecond median_rate(collective::Collectives& control, const fsdp::ComputeTimes& times) {
  const double mine = times.flops.value / times.stages().value;
  std::vector<double> rates(static_cast<std::size_t>(control.group().size()));
  control.all_gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(rates)), net::Purpose::Control);
  std::ranges::sort(rates);
  const std::size_t n = rates.size();
  return {n % 2 == 1 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2};
}

/// Measures until the two best of its measurements agree, so that a disturbance of the machine doesn't set a whole sweep's clock.
FlopsPerSecond steady_rate(net::World& world, const RunRequest& request, Workload& workload, const collective::Group& group) {
  constexpr int kMostMeasurements = 12;
  constexpr double kAgreement = 0.97;
  Prepared prepared(world, request, workload, group);
  FlopsPerSecond best = prepared.rate;
  FlopsPerSecond second{0};
  for (int m = 1; m < kMostMeasurements && (m < 3 || second < best * kAgreement); ++m) {
    prepared.control->barrier();
    const FlopsPerSecond rate = median_rate(*prepared.control, workload.measure(prepared.shards, request.measurements, world.clock()));
    second = std::max(second, std::min(rate, best));
    best = std::max(best, rate);
  }
  return second;
}

}  // namespace

collective::Group group_of(const net::World& world, const RunRequest& request) {
  return collective::Group::first(request.ranks == 0 ? world.size() : request.ranks, world.rank());
}

int shards_of(const Config& config, const net::World& world, int ranks) {
  const fsdp::StepPlan plan{.ranks = ranks,
                            .ranks_per_node = ranks_per_node(config, world, ranks),
                            .strategy = fsdp::parse_strategy(config.text("fsdp.strategy"))};
  return plan.shards();
}

void choose_products(const net::World& world, const RunRequest& request, Workload& workload, int ranks) {
  workload.matmul().set_choices(tensor::parse_choices(product_choices(request.choices)));
  (void)workload.measure(shards_of(request.config, world, ranks), 1, world.clock());  // each product's backend is chosen at its first use
}

Prepared::Prepared(net::World& world, const RunRequest& request, Workload& its_workload, const collective::Group& group)
    : workload(its_workload),
      shards(shards_of(request.config, world, group.size())),
      control(collective::make_own(world.transport(), group, {.lane = net::lanes::kTraining})) {
  choices = agree_choices(*control, workload.matmul(), product_choices(request.choices));
  control->barrier();
  times = workload.measure(shards, request.measurements, world.clock());
  rate = median_rate(*control, times);
}

FlopsPerSecond measure_rate(net::World& world, const RunRequest& request) {
  const collective::Group group = group_of(world, request);
  step::Arena arena;  // without the budget: a point of a sweep that doesn't fit is a result, and not the end of it
  std::optional<Workload> workload;
  agree(world, [&] {
    if (group.index < 0) return;
    workload.emplace(request.config, group.size(), group.index, arena);
    choose_products(world, request, *workload, group.size());
  });
  FlopsPerSecond rate{0};
  if (workload) rate = steady_rate(world, request, *workload, group);
  world.sleep_barrier();
  return rate;
}

}  // namespace twinax::app
