#pragma once

#include <optional>
#include <string>
#include <vector>

namespace twinax::app {

/// Options of every command that runs ranks.
struct RunArguments {
  std::string file;              ///< the config or sweep file
  std::vector<std::string> set;  ///< "key=value"
  int ranks = 0;                 ///< of the loopback transport; 0 = not given
  bool quiet = false;
};

struct TrainArguments : RunArguments {
  std::string dump;             ///< HDF5 file of the first step, empty = none
  std::string trace;            ///< Chrome trace of the last step, empty = none
  std::string same_choices_as;  ///< a record
};

struct SweepArguments : RunArguments {
  std::string out;  ///< directory; empty = results/<name of the file>
};

struct CalibrateArguments : RunArguments {
  std::string out;      ///< the catalog that is written
  std::string name;     ///< the network's
  std::string between;  ///< two ranks, "0,1"; empty = ranks of two hosts
};

/// Options of every benchmark.
struct BenchArguments : RunArguments {
  std::string sizes;
  int iterations = 0;  ///< 0 = as many as fit
  int warmup = 5;
  bool check = true;
  bool csv = false;
};

struct BenchNetArguments : BenchArguments {
  std::string test = "all";
  int window = 64;
  std::string pair;  ///< "0,1"; empty = the first and the last rank
};

struct BenchCollectiveArguments : BenchArguments {
  std::string collective = "all";
  std::string algorithm = "all";
  std::string dtype = "fp32";
  std::string tune;  ///< file that crossovers are written to, empty = none
};

struct ConfigArguments {
  std::string file;  ///< print this file's effective config; empty = the reference
  std::vector<std::string> set;
};

struct ReportArguments {
  std::vector<std::string> files;
  std::string out;
};

struct DataArguments {
  std::string text;
  std::string cache;  ///< folder; empty = the user's
  std::string tokenizer;
  std::int64_t vocabulary = 8000;  ///< tokens of a trained vocabulary
};

struct RepairArguments {
  std::string file;
};

/// What was typed; exactly one command is set, unless `exit_code` is.
struct CommandLine {
  std::optional<int> exit_code;  ///< help was shown or an error was printed: leave with this
  std::optional<TrainArguments> train;
  std::optional<SweepArguments> sweep;
  std::optional<CalibrateArguments> calibrate;
  std::optional<BenchNetArguments> bench_net;
  std::optional<BenchCollectiveArguments> bench_collective;
  bool doctor = false;
  std::optional<ConfigArguments> config;
  std::optional<ReportArguments> report;
  std::optional<DataArguments> prepare;
  std::optional<RepairArguments> repair;
};

/// Reads the command line. Help and errors are printed only if `speaks` (one rank does).
[[nodiscard]] CommandLine read_command_line(int argc, char** argv, bool speaks);

}  // namespace twinax::app
