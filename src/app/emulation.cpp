#include "app/emulation.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"
#include "twinax/base/toml.hpp"
#include "twinax/base/units_text.hpp"

#include "app/paths.hpp"
#include "app/stood_for.hpp"

namespace twinax::app {
namespace {

[[noreturn]] void refuse(const TomlFile& file, const TomlEntry& entry, std::string_view allowed) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, allowed));
}

const std::string& text_of(const TomlFile& file, const TomlEntry& entry) {
  const auto* text = entry.value.is_array ? nullptr : std::get_if<std::string>(&entry.value.items.front());
  if (text == nullptr) refuse(file, entry, "must be a text in quotes");
  return *text;
}

void set_field(Accelerator& accelerator, const TomlFile& file, const TomlEntry& entry, std::string_view field) {
  if (field == "peak") {
    try {
      accelerator.peak = parse_flops_rate(text_of(file, entry));
    } catch (const InvalidArgument& error) {
      refuse(file, entry, error.what());
    }
  } else if (field == "sustained") {
    const auto* share = entry.value.is_array ? nullptr : std::get_if<double>(&entry.value.items.front());
    if (share == nullptr || *share <= 0 || *share > 1) refuse(file, entry, "must be a share above 0 and at most 1, such as 0.45");
    accelerator.sustained = *share;
  } else if (field == "source") {
    accelerator.source = text_of(file, entry);
  } else if (field == "memory") {
    try {
      accelerator.memory = parse_bytes(text_of(file, entry));
    } catch (const InvalidArgument& error) {
      refuse(file, entry, error.what());
    }
  } else {
    refuse(file, entry, "is not a key of an accelerator: peak, sustained, memory, source");
  }
}

std::vector<Accelerator> read_accelerators(const std::string& path) {
  const TomlFile file = read_toml(path);
  std::vector<Accelerator> all;
  for (const TomlEntry& entry : file.entries) {
    const std::size_t dot = entry.key.find('.');
    if (dot == std::string::npos) refuse(file, entry, "stands outside any accelerator's table");
    const std::string name = entry.key.substr(0, dot);
    if (all.empty() || all.back().name != name) all.push_back({.name = name});
    set_field(all.back(), file, entry, std::string_view(entry.key).substr(dot + 1));
  }
  for (const Accelerator& accelerator : all) {
    if (accelerator.peak.value <= 0 || accelerator.source.empty()) {
      throw ConfigError(fmt::format("{}: [{}] lacks its peak or its source", path, accelerator.name));
    }
  }
  return all;
}

/// Puts the config's own figures in the place of the catalog's.
void take_own_figures(const Config& config, net::Profile& profile) {
  if (const BytesPerSecond usable = config.rate("net.usable_rate"); usable.value > 0) {
    if (usable > profile.rate) {
      throw ConfigError(
          fmt::format("net.usable_rate = {}: more than the {} of {}", for_people(usable), for_people(profile.rate), profile.name));
    }
    profile.achievable = usable / profile.rate;
  }
  if (const Seconds overhead = config.seconds("net.message_overhead"); overhead.value > 0) profile.message_overhead = overhead;
}

/// Sequences of the model that is stood for, on a node of the cluster, for one of this run; 0 if that isn't set.
double sequences_there(const Config& config, const StoodFor& model, const RunSize& run) {
  const auto sequences = static_cast<double>(config.integer("emulate.sequences"));
  if (sequences > 0 && (model.sequence.value == 0 || run.sequence.value == 0)) {
    throw ConfigError("emulate.sequences is set: the FLOPs of which model? Name it by emulate.model, and train a model");
  }
  return sequences * static_cast<double>(config.integer("emulate.accelerators"));
}

/// How many more bytes this run moves into a node for a FLOP than the model that is stood for.
double bytes_per_flop(const Config& config, const StoodFor& model, const RunSize& run) {
  const double sequences = sequences_there(config, model, run);
  if (sequences == 0) return 1;
  const double there = model.parameters / (model.sequence.value * sequences);
  return static_cast<double>(run.parameters) / run.sequence.value / there;
}

/// Shrinks times to `share`; what messages cost beyond their bytes becomes a part of the rate.
void stand_for_model(const Config& config, net::Profile& profile, double share) {
  for (Seconds* time : {&profile.latency, &profile.in_node_latency, &profile.jitter, &profile.tail}) *time = *time * share;
  const Bytes chunk = config.bytes("net.chunk");
  const Seconds takes = std::max(profile.message_gap, chunk / (profile.rate * profile.achievable) + profile.message_overhead);
  profile.rate = chunk / (takes * profile.achievable);
  profile.message_overhead = profile.message_gap = {0};
}

}  // namespace

std::string catalog_path(const Config& config, std::string_view key, std::string_view file) {
  const std::string& given = config.text(key);
  return given.empty() ? find_shared(std::filesystem::path("experiments") / "catalog" / file).string() : given;
}

Accelerator find_accelerator(const std::string& catalog, const std::string& name) {
  const std::vector<Accelerator> all = read_accelerators(catalog);
  const auto found = std::ranges::find(all, name, &Accelerator::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Accelerator& accelerator : all) names.push_back(accelerator.name);
  throw ConfigError(fmt::format("emulate.accelerator = {}: not in {}; did you mean {}? It has: {}", name, catalog, nearest(name, names),
                                fmt::join(names, ", ")));
}

Emulation make_emulation(const Config& config, FlopsPerSecond rank_rate) {
  Emulation emulation{.accelerator = config.text("emulate.accelerator"), .dilation = 1, .rank_rate = rank_rate};
  if (emulation.accelerator != "none") {
    const Accelerator accelerator = find_accelerator(catalog_path(config, "emulate.catalog", "accelerators.toml"), emulation.accelerator);
    emulation.emulated_rate = accelerator.sustained_rate() * static_cast<double>(config.integer("emulate.accelerators"));
    emulation.emulated_peak = accelerator.peak * static_cast<double>(config.integer("emulate.accelerators"));
    emulation.dilation = emulation.emulated_rate / rank_rate;
  }
  if (config.real("net.dilation") > 0) emulation.dilation = config.real("net.dilation");
  return emulation;
}

Scale scale_of(const Config& config, const RunSize& run) {
  const std::optional<StoodFor> model = stood_for(config);
  if (!model) return {};
  const double sequences = sequences_there(config, *model, run);
  if (sequences == 0) return {.time = model->parameters / static_cast<double>(run.parameters)};
  const double tokens_here = static_cast<double>(run.tokens_per_node) / static_cast<double>(run.sequences_per_node);
  return {.time = sequences * (model->sequence.value / run.sequence.value), .tokens = sequences * model->tokens / tokens_here};
}

std::optional<net::Profile> make_profile(const Config& config, const Emulation& emulation, const RunSize& run) {
  const std::string& name = config.text("net.profile");
  if (name == "none") return std::nullopt;
  net::Profile profile = net::find_profile(net::read_profiles(catalog_path(config, "net.catalog", "networks.toml")), name);
  take_own_figures(config, profile);
  profile.stream_rate = profile.stream_rate * static_cast<double>(config.integer("emulate.accelerators"));
  const std::optional<StoodFor> model = stood_for(config);
  const double denser = model ? bytes_per_flop(config, *model, run) : 1;
  if (model) stand_for_model(config, profile, static_cast<double>(run.parameters) / model->parameters / denser);
  for (BytesPerSecond* rate : {&profile.rate, &profile.stream_rate, &profile.in_node_rate}) *rate = *rate * denser;
  if (const std::int64_t m = config.integer("emulate.nodes"); m > 1 && run.nodes > 1) {
    // A ring of N nodes moves (N - 1) / N of the model into each; the rate is scaled so that bytes per FLOP are those of M nodes.
    const auto share = [](double n) { return (n - 1) / n; };
    for (BytesPerSecond* rate : {&profile.rate, &profile.stream_rate}) *rate = *rate * (share(run.nodes) / share(static_cast<double>(m)));
  }
  return profile.dilated(emulation.dilation);
}

std::string stands_for(const Config& config, const Emulation& emulation, const RunSize& run) {
  if (emulation.accelerator == "none") return "";
  const std::int64_t nodes = config.integer("emulate.nodes") > 0 && run.nodes > 1 ? config.integer("emulate.nodes") : run.nodes;
  const std::optional<StoodFor> model = stood_for(config);
  const double parameters = model ? model->parameters : static_cast<double>(run.parameters);
  const auto count = [](double n) { return n >= 1e9 ? fmt::format("{:.3g} billion", n / 1e9) : fmt::format("{:.3g} million", n / 1e6); };
  const std::int64_t sequences = config.integer("emulate.sequences");
  const std::string work = sequences > 0 ? fmt::format("{} sequences an accelerator and step", run.sequences_per_node * sequences)
                                         : fmt::format("{} tokens a node and step", run.tokens_per_node);
  const std::string named = model && !model->name.empty() ? fmt::format("{}, ", model->name) : "";
  return fmt::format("{} node{} with {} {} each, {}, {}a model of {} parameters", nodes, nodes == 1 ? "" : "s",
                     config.integer("emulate.accelerators"), emulation.accelerator, work, named, count(parameters));
}

}  // namespace twinax::app
