#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/base/toml.hpp"

namespace twinax::app {

/// A model of the catalog: keys of the config's [model] table.
struct CatalogModel {
  std::string name;
  std::vector<TomlEntry> keys;  ///< "kind", "layers", ...
  std::int64_t parameters = 0;  ///< as published
  std::string source;
};

/// All models of a catalog file. Throws ConfigError: file, line, and what is wrong.
[[nodiscard]] std::vector<CatalogModel> read_models(const std::string& path);

/// Sets the model's keys from the catalog's model.name, but for those that the config sets itself; nothing if there is no name. Throws
/// ConfigError, which names those there are.
void take_catalog_model(Config& config);

}  // namespace twinax::app
