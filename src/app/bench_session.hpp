#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/record/run_record.hpp"

#include "app/bench_figures.hpp"
#include "app/bench_table.hpp"
#include "app/command_line.hpp"
#include "app/device_watch.hpp"
#include "app/emulation.hpp"
#include "app/links.hpp"

namespace twinax::app {

/// The config of a benchmark: that of its file, if it has one, and each --set. Throws ConfigError, also if an emulated accelerator would
/// need a model to be measured by, and there is no file that names one.
[[nodiscard]] Config load_bench_config(const BenchArguments& arguments);

/// What all benchmarks share: the ranks, connected and shaped as `train` would connect them, and where figures go.
class BenchSession {
 public:
  /// Collective on the world. Throws AgreedError.
  BenchSession(net::World& world, const Config& config, const BenchArguments& arguments, const std::string& command);

  [[nodiscard]] net::World& world() { return world_; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const BenchArguments& arguments() const { return arguments_; }
  [[nodiscard]] Links& links() { return *links_; }
  [[nodiscard]] bool is_root() const { return world_.rank() == 0; }
  [[nodiscard]] const BenchPlace& place() const { return place_; }
  /// The network as it is applied, dilation included; null = unshaped.
  [[nodiscard]] const net::Profile* profile() const { return profile_ ? &*profile_ : nullptr; }
  /// What the slowest host's `net.device` carries, each direction, as the kernel says; null if it is not named or not known.
  [[nodiscard]] std::optional<BytesPerSecond> wire_rate() const { return wire_rate_; }
  /// Whether two ranks are ranks of one host.
  [[nodiscard]] bool share_host(int a, int b) const;

  /// The least time in which this rank copies so many bytes in memory.
  [[nodiscard]] Seconds copy_time(Bytes size);
  /// The same while all ranks do, as the slowest has it. Collective.
  [[nodiscard]] Seconds copy_time_of_all(Bytes size);
  /// The largest of each element over the ranks. Collective.
  [[nodiscard]] std::vector<double> largest(std::span<const double> mine);
  /// The sum over the ranks. Collective.
  [[nodiscard]] std::int64_t sum(std::int64_t mine);
  /// Rank 0's plan, on all. Collective.
  [[nodiscard]] BenchPlan agreed(BenchPlan mine);

  /// Begins the output: what is measured and how, and the head of CSV. On rank 0 alone.
  void print_head(std::string_view what, std::span<const BenchColumn> columns);
  /// Begins a table of some of the columns. On rank 0 alone; nothing in CSV.
  void print_table_head(std::string_view title, std::span<const std::string_view> shown);
  /// A row of the table and of CSV. On rank 0 alone.
  void print_row(std::span<const BenchCell> cells);
  /// Adds a figure to the record, if there is one. On rank 0 alone.
  void keep(const record::BenchRow& row);
  /// Closes the record; warns if what was sent between hosts left by another device than `net.device`; waits for all. Collective.
  void finish();

  /// Wall-clock seconds that stand for one of the emulated network.
  [[nodiscard]] double dilation() const { return emulation_.dilation; }
  /// Cells that end every row of CSV: transport, network, dilation, ranks, ranks a node.
  [[nodiscard]] std::vector<BenchCell> conditions() const;
  /// Their columns.
  [[nodiscard]] static std::span<const BenchColumn> condition_columns();

 private:
  void decide_network(const std::string& command);
  void open_record(const std::string& command);
  void find_wire_rate();
  [[nodiscard]] std::string bound_text() const;

  net::World& world_;
  const Config& config_;
  const BenchArguments& arguments_;
  Emulation emulation_;
  BenchPlace place_;
  std::optional<net::Profile> profile_;
  std::optional<DeviceWatch> devices_;
  std::optional<Links> links_;
  std::optional<BytesPerSecond> wire_rate_;
  std::unique_ptr<record::RunRecord> record_;
  std::vector<std::byte> from_, to_;
  std::vector<BenchColumn> columns_;
  std::vector<std::string_view> shown_;
};

}  // namespace twinax::app
