#include "app/command_line.hpp"

#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "app/commands.hpp"

namespace twinax::app {
namespace {

constexpr const char* kAbout =
    "twinax: does this model at this scale need an HPC network, or will Ethernet do?\n"
    "Trains sharded models over real or emulated networks and records where the time goes.\n"
    "Start ranks with mpirun, or as threads of one process with --set net.transport=loopback --ranks N.";

/// Options that are short for a --set of one key.
struct Shorthands {
  std::string net, emulate, record;
};

CLI::Option* add_run_options(CLI::App& command, RunArguments& arguments, const char* file_help) {
  CLI::Option* const file = file_help == nullptr ? nullptr : command.add_option("file", arguments.file, file_help);
  command
      .add_option("--set", arguments.set,
                  "Set a key: --set train.steps=100 (`twinax config` lists all); may be repeated, the last one wins")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--ranks", arguments.ranks, "Number of ranks of the loopback transport (threads of one process)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command.add_flag("--quiet", arguments.quiet, "No progress lines, only warnings and results");
  return file;
}

void add_bench_options(CLI::App& command, BenchArguments& arguments, const char* sizes) {
  arguments.sizes = sizes;
  command.add_option("--sizes", arguments.sizes, "List or range: 64B,4KiB, 1KiB..64MiB (doubling), 1KiB..64MiB*4")
      ->capture_default_str()
      ->type_name("SIZES");
  command
      .add_option("--iterations", arguments.iterations, "Measurements of which the median is taken; 0 = 30, or 5 or more that fit into 3 s")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command.add_option("--warmup", arguments.warmup, "Operations before, which are not counted (fewer where they would take over 1 s)")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  command.add_flag("--check,!--no-check", arguments.check, "Compare what arrives with what must arrive, apart from timing (default: on)");
  command.add_flag("--csv", arguments.csv, "CSV on stdout, all columns, units in their names; the conditions go to stderr");
}

void add_shorthands(CLI::App& command, Shorthands& shorthands) {
  command.add_option("--net", shorthands.net, "Shape traffic like a network of the catalog: short for --set net.profile=PROFILE")
      ->type_name("PROFILE");
  command
      .add_option("--emulate", shorthands.emulate,
                  "Slow the network by as much as a rank is slower than this accelerator: short for --set emulate.accelerator=NAME")
      ->type_name("NAME");
}

void apply_shorthands(const Shorthands& shorthands, RunArguments& arguments) {
  if (!shorthands.net.empty()) arguments.set.push_back("net.profile=" + shorthands.net);
  if (!shorthands.emulate.empty()) arguments.set.push_back("emulate.accelerator=" + shorthands.emulate);
  if (!shorthands.record.empty()) arguments.set.push_back("record.path=" + shorthands.record);
}

/// All commands, their options bound to the fields of `line`.
class Parser {
 public:
  Parser() : app_(kAbout, "twinax") {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string("twinax ") + TWINAX_VERSION);
    add_train();
    add_sweep();
    add_calibrate();
    add_bench();
    add_others();
  }

  CommandLine parse(int argc, char** argv, bool speaks) {
    CommandLine line;
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      std::ostringstream out;
      std::ostringstream err;
      const int code = app_.exit(error, out, err);
      if (speaks) std::cout << out.str() << std::flush;
      if (speaks) std::cerr << err.str() << std::flush;
      line.exit_code = code == 0 ? 0 : 2;
      return line;
    }
    apply_shorthands(train_short_, train_);
    apply_shorthands(sweep_short_, sweep_);
    apply_shorthands(calibrate_short_, calibrate_);
    apply_shorthands(bench_short_, bench_net_);
    apply_shorthands(bench_short_, bench_collective_);
    if (bench_net_command_->parsed()) line.bench_net = bench_net_;
    if (bench_collective_command_->parsed()) line.bench_collective = bench_collective_;
    if (train_command_->parsed()) line.train = train_;
    if (sweep_command_->parsed()) line.sweep = sweep_;
    if (calibrate_command_->parsed()) line.calibrate = calibrate_;
    line.doctor = doctor_command_->parsed();
    if (config_command_->parsed()) line.config = config_;
    if (report_command_->parsed()) line.report = report_;
    if (prepare_command_->parsed()) line.prepare = prepare_;
    if (repair_command_->parsed()) line.repair = repair_;
    return line;
  }

 private:
  void add_train() {
    train_command_ = app_.add_subcommand("train", "Train a model; under mpirun every process is a rank, alone it is one rank");
    add_run_options(*train_command_, train_, "Config file (TOML), e.g. experiments/gpt-small.toml")->required();
    add_shorthands(*train_command_, train_short_);
    train_command_->add_option("--record", train_short_.record, "Write the run's record (HDF5): short for --set record.path=FILE")
        ->type_name("FILE");
    train_command_->add_option("--dump", train_.dump, "Write the first step's parameters, gradients, batch and loss (HDF5), for checking")
        ->type_name("FILE");
    train_command_->add_option("--trace", train_.trace, "Write the last step's timeline of all ranks (Chrome/Perfetto JSON)")
        ->type_name("FILE");
    train_command_
        ->add_option("--same-choices-as", train_.same_choices_as, "Use the choices that a recorded run made by timing, for the same bits")
        ->type_name("RECORD");
  }

  void add_sweep() {
    sweep_command_ =
        app_.add_subcommand("sweep", "Run a matrix of configurations in one job, in rotation; continues what is already recorded");
    add_run_options(*sweep_command_, sweep_, "Sweep file (TOML), e.g. experiments/demo.toml")->required();
    add_shorthands(*sweep_command_, sweep_short_);
    sweep_command_->add_option("--out", sweep_.out, "Directory of the records (default: results/<name of the sweep file>)")
        ->type_name("DIR");
  }

  void add_calibrate() {
    CLI::App* calibrate = app_.add_subcommand("calibrate", "Measure what emulation should be true to");
    calibrate->require_subcommand(1);
    calibrate_command_ = calibrate->add_subcommand(
        "net", "Measure the wire between ranks (latency, jitter, overhead, rates; about 20 s) and write it as a network of a catalog");
    add_run_options(*calibrate_command_, calibrate_, nullptr);
    calibrate_command_
        ->add_option("--net", calibrate_short_.net, "Measure this emulated network instead: short for --set net.profile=PROFILE")
        ->type_name("PROFILE");
    calibrate_command_
        ->add_option("--between", calibrate_.between, "Two ranks, such as 0,1 (default: rank 0 and the first of another host)")
        ->type_name("RANKS");
    calibrate_command_->add_option("--name", calibrate_.name, "The network's name in the catalog")
        ->default_val("measured")
        ->type_name("NAME");
    calibrate_command_
        ->add_option("-o,--out", calibrate_.out, "Catalog (TOML) that is written; use it with --set net.catalog=FILE --net NAME")
        ->required()
        ->type_name("FILE");
  }

  void add_bench() {
    constexpr const char* kFile = "Config file (TOML), only needed with --emulate: its model measures how much slower a rank is";
    CLI::App* bench = app_.add_subcommand("bench", "Measure messages and collectives, on the real network or an emulated one");
    bench->require_subcommand(1);
    bench->footer(
        "Example: mpirun -n 2 twinax bench net --test latency\n         twinax bench collective --set net.transport=loopback --ranks 4");
    bench_net_command_ = bench->add_subcommand(
        "net", "Messages between ranks: latency, bandwidth, incast, all pairs; columns as in the OSU micro-benchmarks");
    bench_collective_command_ = bench->add_subcommand("collective", "Every collective, algorithm and size; columns as in nccl-tests");
    for (CLI::App* command : {bench_net_command_, bench_collective_command_}) {
      add_run_options(*command, command == bench_net_command_ ? static_cast<RunArguments&>(bench_net_) : bench_collective_, kFile);
      add_shorthands(*command, bench_short_);
      command->add_option("--record", bench_short_.record, "Write all figures (HDF5, kind bench): short for --set record.path=FILE")
          ->type_name("FILE");
    }
    add_bench_net();
    add_bench_collective();
  }

  void add_bench_net() {
    CLI::App& command = *bench_net_command_;
    add_bench_options(command, bench_net_, "1B..4MiB*4");
    command.add_option("--test", bench_net_.test, "Names with commas of those below, or all")->capture_default_str()->type_name("TESTS");
    command
        .add_option("--window", bench_net_.window,
                    "Messages in flight at once (fewer where they would be over 64 MiB, or 0.25 s of an emulated network)")
        ->capture_default_str()
        ->type_name("W")
        ->check(CLI::Range(1, 65536));
    command.add_option("--pair", bench_net_.pair, "Ranks of latency, bandwidth and bidirectional (default: the first and the last)")
        ->type_name("A,B");
    command.footer(
        "Tests:\n"
        "  latency        one message there and one back: half of a round trip\n"
        "  bandwidth      a window of messages one way, then an answer\n"
        "  bidirectional  the same both ways at once; rates are the sum\n"
        "  incast         a window of messages from every other rank to rank 0\n"
        "  all-pairs      each pair's latency (at the smallest size) and rate (at the largest); disjoint pairs at once\n"
        "\nColumns (from iterations on in CSV only):\n" +
        bench_net_columns_help() +
        "\nExamples: mpirun -n 2 twinax bench net --test latency,bandwidth\n"
        "          mpirun -n 4 twinax bench net --test incast --net ethernet-10g --csv\n");
  }

  void add_bench_collective() {
    CLI::App& command = *bench_collective_command_;
    add_bench_options(command, bench_collective_, "1KiB..16MiB*4");
    command.add_option("--collective", bench_collective_.collective, "all_gather, reduce_scatter, all_reduce, broadcast, barrier, or all")
        ->capture_default_str()
        ->type_name("NAMES");
    command
        .add_option("--algorithm", bench_collective_.algorithm, "Names with commas, of those that the collective has; native is MPI's own")
        ->capture_default_str()
        ->type_name("NAMES");
    command.add_option("--dtype", bench_collective_.dtype, "Element type on the wire; sums are fp32")
        ->capture_default_str()
        ->check(CLI::IsMember({"fp32", "bf16"}));
    command
        .add_option("--tune", bench_collective_.tune,
                    "Write which algorithm is fastest up to which size, for this transport and these ranks; what else is in the file stays")
        ->type_name("FILE");
    command.footer("Columns (from iterations on in CSV only):\n" + bench_collective_columns_help() +
                   "\nExamples: mpirun -n 2 --bind-to none twinax bench collective --collective all_reduce\n"
                   "          twinax bench collective --set net.transport=loopback --ranks 4 --net ethernet-25g --set net.dilation=10\n");
  }

  void add_others() {
    doctor_command_ =
        app_.add_subcommand("doctor", "Say what works on this machine, or under mpirun on all hosts, and what to do about the rest");
    doctor_command_->footer(
        "Each line is OK, missing (not there, works without), warning (works, but worse than it could) or BROKEN (nothing runs); -> says "
        "what\n"
        "to do. The exit code is 0 unless something is BROKEN.\n"
        "Examples: twinax doctor\n"
        "          mpirun --hostfile HOSTS -n 4 --bind-to none twinax doctor\n");
    config_command_ = app_.add_subcommand("config", "Print every key with type, default, range and help; or a file's effective config");
    config_command_->add_option("file", config_.file, "Config file (TOML) whose effective config is printed");
    config_command_->add_option("--set", config_.set, "Set a key")->type_name("KEY=VALUE")->allow_extra_args(false);
    report_command_ = app_.add_subcommand("report", "Draw figures, a table and report.html from records");
    report_command_->add_option("files", report_.files, "Records (HDF5)")->required();
    report_command_->add_option("-o,--out", report_.out, "Directory that the report is written to")->required()->type_name("DIR");
    CLI::App* data = app_.add_subcommand("data", "Prepare data");
    data->require_subcommand(1);
    prepare_command_ = data->add_subcommand("prepare", "Tokenize a text file, or a folder of text files, into a file that training maps");
    prepare_command_->add_option("text", prepare_.text, "Text file or folder")->required();
    prepare_command_->add_option("--cache", prepare_.cache, "Folder of prepared tokens, as data.cache (default: the user's cache folder)")
        ->type_name("DIR");
    prepare_command_
        ->add_option("--tokenizer", prepare_.tokenizer,
                     "bytes, or sentencepiece: trains a vocabulary on this text first, as data.tokenizer")
        ->default_val("bytes");
    prepare_command_->add_option("--vocabulary", prepare_.vocabulary, "Tokens of a trained vocabulary, at most (sentencepiece)")
        ->default_val(8000)
        ->type_name("N")
        ->check(CLI::Range(300, 65536));
    CLI::App* record = app_.add_subcommand("record", "Look after records");
    record->require_subcommand(1);
    repair_command_ = record->add_subcommand("repair", "Clear the mark that a killed run leaves, so that any HDF5 tool opens its record");
    repair_command_->add_option("file", repair_.file, "Record (HDF5)")->required();
  }

  CLI::App app_;
  CLI::App* train_command_ = nullptr;
  CLI::App* sweep_command_ = nullptr;
  CLI::App* calibrate_command_ = nullptr;
  CLI::App* bench_net_command_ = nullptr;
  CLI::App* bench_collective_command_ = nullptr;
  CLI::App* doctor_command_ = nullptr;
  CLI::App* config_command_ = nullptr;
  CLI::App* report_command_ = nullptr;
  CLI::App* prepare_command_ = nullptr;
  CLI::App* repair_command_ = nullptr;
  TrainArguments train_;
  SweepArguments sweep_;
  CalibrateArguments calibrate_;
  BenchNetArguments bench_net_;
  BenchCollectiveArguments bench_collective_;
  ConfigArguments config_;
  ReportArguments report_;
  DataArguments prepare_;
  RepairArguments repair_;
  Shorthands train_short_;
  Shorthands sweep_short_;
  Shorthands calibrate_short_;
  Shorthands bench_short_;
};

}  // namespace

CommandLine read_command_line(int argc, char** argv, bool speaks) {
  return Parser().parse(argc, argv, speaks);
}

}  // namespace twinax::app
