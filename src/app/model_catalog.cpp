#include "app/model_catalog.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"

#include "app/experiment.hpp"
#include "app/paths.hpp"

namespace twinax::app {
namespace {

void add_field(CatalogModel& model, const TomlFile& file, const TomlEntry& entry, const std::string& field) {
  const auto refuse = [&](const char* allowed) {
    throw ConfigError(fmt::format("{}:{}: {}: {}", file.path, entry.line, entry.key, allowed));
  };
  if (entry.value.is_array) refuse("must be one value");
  const TomlValue::Scalar& value = entry.value.items.front();
  if (field == "source") {
    if (!std::holds_alternative<std::string>(value)) refuse("must be a text in quotes");
    model.source = std::get<std::string>(value);
  } else if (field == "parameters") {
    if (!std::holds_alternative<std::int64_t>(value)) refuse("must be a whole number");
    model.parameters = std::get<std::int64_t>(value);
  } else {
    model.keys.push_back({field, entry.value, entry.line});
  }
}

}  // namespace

std::vector<CatalogModel> read_models(const std::string& path) {
  const TomlFile file = read_toml(path);
  std::vector<CatalogModel> all;
  for (const TomlEntry& entry : file.entries) {
    const std::size_t dot = entry.key.find('.');
    if (dot == std::string::npos) throw ConfigError(fmt::format("{}:{}: {} stands outside any model's table", path, entry.line, entry.key));
    const std::string name = entry.key.substr(0, dot);
    if (all.empty() || all.back().name != name) all.push_back({.name = name});
    add_field(all.back(), file, entry, entry.key.substr(dot + 1));
  }
  for (const CatalogModel& model : all) {
    if (model.parameters <= 0 || model.source.empty()) {
      throw ConfigError(fmt::format("{}: [{}] lacks its parameters or its source", path, model.name));
    }
  }
  return all;
}

void take_catalog_model(Config& config) {
  const std::string& name = config.text("model.name");
  if (name.empty()) return;
  const std::string& given = config.text("model.catalog");
  const std::string path = given.empty() ? find_shared(std::filesystem::path("experiments") / "catalog" / "models.toml").string() : given;
  const std::vector<CatalogModel> all = read_models(path);
  const auto model = std::ranges::find(all, name, &CatalogModel::name);
  if (model == all.end()) {
    std::vector<std::string> names;
    for (const CatalogModel& known : all) names.push_back(known.name);
    throw ConfigError(
        fmt::format("model.name = {}: not in {}; did you mean {}? It has: {}", name, path, nearest(name, names), fmt::join(names, ", ")));
  }
  for (const TomlEntry& entry : model->keys) {
    const std::string key = "model." + entry.key;
    const bool is_known = std::ranges::find(config_keys(), key, &KeyDeclaration::name) != config_keys().end();  // set() refuses others
    if (!is_known || !config.is_set(key)) config.set(key, to_set_text(entry.value.items.front()), fmt::format("{}:{}", path, entry.line));
  }
}

}  // namespace twinax::app
