#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "twinax/base/config.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/profile.hpp"

namespace twinax::app {

/// An accelerator of the catalog.
struct Accelerator {
  std::string name;
  FlopsPerSecond peak;   ///< dense bf16
  double sustained = 1;  ///< the share of it that training reaches
  Bytes memory{0};       ///< 0 where the catalog doesn't say
  std::string source;
  [[nodiscard]] FlopsPerSecond sustained_rate() const { return peak * sustained; }
};

/// Finds an accelerator. Throws ConfigError: a catalog that can't be used, or a name that is not in it (all are listed).
[[nodiscard]] Accelerator find_accelerator(const std::string& catalog, const std::string& name);

/// What a run's clock and network stand for.
struct Emulation {
  std::string accelerator = "none";
  double dilation = 1;              ///< seconds here for a second there
  FlopsPerSecond rank_rate{0};      ///< as measured, the median over the ranks
  FlopsPerSecond emulated_rate{0};  ///< of all accelerators that a rank stands for, sustained
  FlopsPerSecond emulated_peak{0};  ///< the same at their peak
};

/// The dilation from the ranks' measured rate; 1 where no accelerator is emulated; `net.dilation` overrides.
[[nodiscard]] Emulation make_emulation(const Config& config, FlopsPerSecond rank_rate);

/// What of a run its emulation depends on.
struct RunSize {
  std::int64_t parameters = 0;
  Flops sequence{0};  ///< of one sequence's training step, nothing computed twice
  int nodes = 1;
  std::int64_t sequences_per_node = 0;  ///< of a step
  std::int64_t tokens_per_node = 0;     ///< of a step
};

/// What a step of the model that is stood for is, beside a step of the run.
struct Scale {
  double time = 1;    ///< times as long at the same rate
  double tokens = 1;  ///< times as many
};

/// By the FLOPs of what `emulate.sequences` says; without it, as many tokens of a model of more parameters. Throws ConfigError as
/// make_profile does.
[[nodiscard]] Scale scale_of(const Config& config, const RunSize& run);

/// The network as a run applies it: the catalog's profile, for M nodes if `emulate.nodes` says so, for the model that is stood for,
/// dilated. Null: unshaped. Throws ConfigError: a network, model or figure that can't be used.
///
/// A layer of a model k times larger computes and sends k times as long, while latencies stay: so they are divided by k here, and the time
/// that messages cost beyond their bytes becomes a part of the rate. With `emulate.sequences` rates are multiplied by how many more bytes
/// this run moves for a FLOP than a node of the cluster does, and times are divided by it. The streams of a rank are those of all
/// accelerators that it stands for.
[[nodiscard]] std::optional<net::Profile> make_profile(const Config& config, const Emulation& emulation, const RunSize& run);

/// One line for reports: "2 nodes with 1 a100 each, 4,096 tokens a node and step, a model of 1.3 billion parameters".
[[nodiscard]] std::string stands_for(const Config& config, const Emulation& emulation, const RunSize& run);

/// The catalogs' folder: `key`'s value if it is set, else the file of that name beside the experiments (in the source tree or installed).
[[nodiscard]] std::string catalog_path(const Config& config, std::string_view key, std::string_view file);

}  // namespace twinax::app
