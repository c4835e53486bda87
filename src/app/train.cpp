#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "twinax/base/log.hpp"
#include "twinax/base/units_text.hpp"
#include "twinax/record/read_record.hpp"

#include "app/cluster_catalog.hpp"
#include "app/commands.hpp"
#include "app/experiment.hpp"
#include "app/launch.hpp"
#include "app/model_catalog.hpp"
#include "app/progress.hpp"
#include "app/training_run.hpp"

namespace twinax::app {
namespace {

/// Shows a run's steps as progress, its evaluations as lines of the output.
class TrainObserver final : public RunObserver {
 public:
  TrainObserver(Clock& clock, std::int64_t steps, bool quiet) : progress_(clock, steps, quiet) {}
  void on_step(std::int64_t step, std::int64_t /*steps*/, double loss, Seconds duration) override {
    progress_.show(step + 1, fmt::format("loss {:.4f}  {} a step", loss, for_people(duration)));
  }
  void on_evaluation(std::int64_t step, double bits_per_token) override {
    progress_.print(fmt::format("after step {}: {:.4f} bits a token on the held-out text", step + 1, bits_per_token));
  }

 private:
  Progress progress_;
};

void print_summary(const RunRequest& request, const RunSummary& summary) {
  fmt::print("{} steps, {} parameters: loss {:.4f} nats a token, median step {}\n", summary.steps, summary.parameters, summary.loss,
             for_people(summary.median_step));
  if (summary.emulation.dilation != 1) {
    fmt::print("emulated: {} here are 1 s of the cluster; it stands for {}\n", for_people(Seconds{summary.emulation.dilation}),
               summary.stands_for);
  }
  if (std::isfinite(summary.bits_per_token)) {
    fmt::print("held-out text: {:.4f} bits a token, {:.4f} a byte\n", summary.bits_per_token, summary.bits_per_byte);
  }
  if (const std::string& path = request.config.text("record.path"); !path.empty()) fmt::print("record: {}\n", path);
}

}  // namespace

int train_command(const TrainArguments& arguments, const Invocation& invocation) {
  RunRequest request;
  const auto load = [&] {
    request.config = load_config(arguments.file, arguments.set);
    take_catalog_model(request.config);
    take_catalog_cluster(request.config);
    // Read before there are ranks: HDF5 is used by one thread of a process.
    if (!arguments.same_choices_as.empty()) request.choices = record::read_record(arguments.same_choices_as).choices;
    return request.config;
  };
  request.command = invocation.text();
  request.dump = arguments.dump;
  request.trace = arguments.trace;
  return launch(arguments, invocation, load, [&](net::World& world) {
    std::optional<TrainObserver> observer;
    if (world.rank() == 0) observer.emplace(world.clock(), request.config.integer("train.steps"), arguments.quiet);
    const RunSummary summary = run_training(world, request, observer ? &*observer : nullptr);
    observer.reset();
    if (!summary.out_of_budget.empty()) {
      if (world.rank() == 0) log_error(summary.out_of_budget);
      return 1;
    }
    if (world.rank() == 0) print_summary(request, summary);
    return 0;
  });
}

}  // namespace twinax::app
