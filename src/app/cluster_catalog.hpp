#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"

namespace twinax::app {

/// A cluster of the catalog.
struct Cluster {
  std::string name;
  std::string accelerator;        ///< a name of the accelerators' catalog
  std::int64_t accelerators = 0;  ///< of a node
  std::int64_t nodes = 0;
  std::string network;  ///< a name of the networks' catalog
  std::string source;
};

/// All clusters of a catalog file. Throws ConfigError: file, line, and what is wrong.
[[nodiscard]] std::vector<Cluster> read_clusters(const std::string& path);

/// Sets emulate.accelerator, emulate.accelerators, emulate.nodes and net.profile from the catalog's emulate.cluster, but for those that the
/// config sets itself; nothing if there is no name. Throws ConfigError, which names those there are.
void take_catalog_cluster(Config& config);

}  // namespace twinax::app
