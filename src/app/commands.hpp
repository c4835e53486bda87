#pragma once

#include <string>

#include "app/command_line.hpp"

namespace twinax::app {

/// What every command is given of how it was called.
struct Invocation {
  int argc = 0;
  char** argv = nullptr;
  /// The command as typed, for records.
  [[nodiscard]] std::string text() const;
};

/// One function a command; each returns the exit code and has printed its own errors.
int train_command(const TrainArguments& arguments, const Invocation& invocation);
int sweep_command(const SweepArguments& arguments, const Invocation& invocation);
int calibrate_command(const CalibrateArguments& arguments, const Invocation& invocation);
int bench_net_command(const BenchNetArguments& arguments, const Invocation& invocation);
int bench_collective_command(const BenchCollectiveArguments& arguments, const Invocation& invocation);
int doctor_command(const Invocation& invocation);
int config_command(const ConfigArguments& arguments);
int report_command(const ReportArguments& arguments);
int prepare_command(const DataArguments& arguments);
int repair_command(const RepairArguments& arguments);

/// What the columns of the benchmarks' tables mean, for --help.
[[nodiscard]] std::string bench_net_columns_help();
[[nodiscard]] std::string bench_collective_columns_help();

}  // namespace twinax::app
