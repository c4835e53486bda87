#include <cstdlib>
#include <exception>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "app/launch.hpp"

namespace twinax::app {

std::string Invocation::text() const {
  std::string text;
  for (int i = 0; i < argc; ++i) text += (i > 0 ? " " : "") + std::string(argv[i]);
  return text;
}

namespace {

int run(const CommandLine& line, const Invocation& invocation) {
  if (line.train) return train_command(*line.train, invocation);
  if (line.sweep) return sweep_command(*line.sweep, invocation);
  if (line.calibrate) return calibrate_command(*line.calibrate, invocation);
  if (line.bench_net) return bench_net_command(*line.bench_net, invocation);
  if (line.bench_collective) return bench_collective_command(*line.bench_collective, invocation);
  if (line.doctor) return doctor_command(invocation);
  if (line.config) return config_command(*line.config);
  if (line.report) return report_command(*line.report);
  if (line.prepare) return prepare_command(*line.prepare);
  return repair_command(*line.repair);
}

}  // namespace
}  // namespace twinax::app

int main(int argc, char** argv) {
  using namespace twinax;
  try {
    const int rank = app::rank_from_environment();
    start_log(rank, 1);
    const app::CommandLine line = app::read_command_line(argc, argv, rank == 0);
    if (line.exit_code) return *line.exit_code;
    return app::run(line, {.argc = argc, .argv = argv});
  } catch (const std::exception& error) {
    log_error(failure_text(error));
    return EXIT_FAILURE;
  }
}
