#include "app/cluster_catalog.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"
#include "twinax/base/toml.hpp"

#include "app/emulation.hpp"

namespace twinax::app {
namespace {

[[noreturn]] void refuse(const TomlFile& file, const TomlEntry& entry, std::string_view allowed) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, allowed));
}

void set_field(Cluster& cluster, const TomlFile& file, const TomlEntry& entry, std::string_view field) {
  if (entry.value.is_array) refuse(file, entry, "must be one value");
  const TomlValue::Scalar& value = entry.value.items.front();
  if (field == "accelerators" || field == "nodes") {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 1) refuse(file, entry, "must be a whole number from 1 up");
    (field == "nodes" ? cluster.nodes : cluster.accelerators) = *number;
    return;
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) refuse(file, entry, "must be a text in quotes");
  if (field == "accelerator") {
    cluster.accelerator = *text;
  } else if (field == "network") {
    cluster.network = *text;
  } else if (field == "source") {
    cluster.source = *text;
  } else {
    refuse(file, entry, "is not a key of a cluster: accelerator, accelerators, nodes, network, source");
  }
}

}  // namespace

std::vector<Cluster> read_clusters(const std::string& path) {
  const TomlFile file = read_toml(path);
  std::vector<Cluster> all;
  for (const TomlEntry& entry : file.entries) {
    const std::size_t dot = entry.key.find('.');
    if (dot == std::string::npos) refuse(file, entry, "stands outside any cluster's table");
    const std::string name = entry.key.substr(0, dot);
    if (all.empty() || all.back().name != name) all.push_back({.name = name});
    const std::string field = entry.key.substr(dot + 1);
    set_field(all.back(), file, entry, field);
  }
  for (const Cluster& cluster : all) {
    if (cluster.accelerator.empty() || cluster.accelerators == 0 || cluster.nodes == 0 || cluster.network.empty() ||
        cluster.source.empty()) {
      throw ConfigError(fmt::format("{}: [{}] lacks one of accelerator, accelerators, nodes, network, source", path, cluster.name));
    }
  }
  return all;
}

void take_catalog_cluster(Config& config) {
  const std::string& name = config.text("emulate.cluster");
  if (name.empty()) return;
  const std::string path = catalog_path(config, "emulate.clusters", "clusters.toml");
  const std::vector<Cluster> all = read_clusters(path);
  const auto cluster = std::ranges::find(all, name, &Cluster::name);
  if (cluster == all.end()) {
    std::vector<std::string> names;
    for (const Cluster& known : all) names.push_back(known.name);
    throw ConfigError(fmt::format("emulate.cluster = {}: not in {}; did you mean {}? It has: {}", name, path, nearest(name, names),
                                  fmt::join(names, ", ")));
  }
  const auto take = [&](std::string_view key, const std::string& value) {
    if (!config.is_set(key)) config.set(key, value, fmt::format("[{}] of {}", cluster->name, path));
  };
  take("emulate.accelerator", cluster->accelerator);
  take("emulate.accelerators", std::to_string(cluster->accelerators));
  take("emulate.nodes", std::to_string(cluster->nodes));
  take("net.profile", cluster->network);
}

}  // namespace twinax::app
