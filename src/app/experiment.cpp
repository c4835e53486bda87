#include "app/experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {
namespace {

/// Takes `base` out of a file's entries; empty if there is none.
std::string take_base(TomlFile& file) {
  const auto entry = std::ranges::find(file.entries, "base", &TomlEntry::key);
  if (entry == file.entries.end()) return {};
  const auto* path = entry->value.is_array ? nullptr : std::get_if<std::string>(&entry->value.items.front());
  if (path == nullptr || path->empty()) {
    throw ConfigError(
        fmt::format("{}:{}: base must be the path of a config file in quotes, such as \"gpt-small.toml\"", file.path, entry->line));
  }
  std::string base = *path;
  file.entries.erase(entry);
  return base;
}

}  // namespace

std::vector<TomlFile> read_with_bases(const std::string& file) {
  std::vector<TomlFile> files;
  std::vector<std::filesystem::path> seen;
  for (std::filesystem::path path = file; !path.empty();) {
    std::error_code fault;
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, fault);
    if (fault) throw FileError(fmt::format("reading the configuration {}: {}", path.string(), fault.message()));
    if (std::ranges::find(seen, canonical) != seen.end()) {
      throw ConfigError(
          fmt::format("{}: base = \"{}\" comes back to a file that is already being read", files.front().path, path.string()));
    }
    seen.push_back(canonical);
    files.insert(files.begin(), read_toml(path.string()));
    const std::string base = take_base(files.front());
    path = base.empty() ? std::filesystem::path{} : path.parent_path() / base;
  }
  return files;
}

Config load_config(const std::string& file, std::span<const std::string> sets, std::span<const std::string_view> ignored_tables) {
  Config config;
  for (const TomlFile& read : read_with_bases(file)) config.apply(read, ignored_tables);
  for (const std::string& assignment : sets) config.set(assignment);
  return config;
}

std::string to_set_text(const TomlValue::Scalar& value) {
  struct Writer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
  };
  return std::visit(Writer{}, value);
}

}  // namespace twinax::app
