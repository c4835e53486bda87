#include "twinax/base/config.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"

#include "base/config_value.hpp"
#include "fmt/format.h"

namespace twinax {
namespace {

std::string_view table_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

std::string_view word_of(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

/// How far a key is from a known one: a right word in the wrong table, or in none, is near.
std::size_t distance(std::string_view key, std::string_view known) {
  const std::size_t whole = edit_distance(key, known);
  const std::size_t word = edit_distance(word_of(key), word_of(known));
  return word * 2 < word_of(key).size() ? std::min(whole, word + 1) : whole;
}

std::string keys_of(std::string_view table) {
  std::string keys;
  for (const KeyDeclaration& key : config_keys()) {
    if (table_of(key.name) == table) keys.append(keys.empty() ? "" : " ").append(word_of(key.name));
  }
  return keys;
}

/// What is said of a key that nobody has declared.
std::string unknown(std::string_view key) {
  if (key.empty()) return "a key is missing before the equals sign, e.g. train.steps=200 (twinax config lists all)";
  if (const std::string keys = keys_of(key); !keys.empty()) return fmt::format("{} is a table, not a key; [{}] holds {}", key, key, keys);
  const auto known = config_keys();
  const auto best = std::min_element(known.begin(), known.end(), [key](const KeyDeclaration& a, const KeyDeclaration& b) {
    return distance(key, a.name) < distance(key, b.name);
  });
  const std::string keys = keys_of(table_of(key));
  const bool is_far = distance(key, best->name) > std::max<std::size_t>(2, word_of(key).size() / 2);
  const std::string others = is_far && !keys.empty() ? fmt::format(" [{}] holds {}", table_of(key), keys) : std::string{};
  return fmt::format("unknown key; did you mean {}?{} (twinax config lists all)", best->name, others);
}

std::string message(std::string_view origin, std::string_view key, std::string_view value, std::string_view why) {
  return fmt::format("{}: {} = {}: {}", origin, key, value, why);
}

bool is_within(std::string_view key, std::string_view table) {
  return key.starts_with(table) && (key.size() == table.size() || key[table.size()] == '.');
}

}  // namespace

Config::Config() {
  for (const KeyDeclaration& key : config_keys()) {
    entries_.emplace(std::string(key.name), Entry{&key, read_value(key, key.default_text)});
  }
}

void Config::apply(const TomlFile& file, std::span<const std::string_view> ignored_tables) {
  for (const TomlEntry& found : file.entries) {
    const auto holds = [&found](std::string_view table) { return is_within(found.key, table); };
    if (std::any_of(ignored_tables.begin(), ignored_tables.end(), holds)) continue;
    const std::string origin = fmt::format("{}:{}", file.path, found.line);
    const std::string shown = toml_text(found.value);
    Entry& entry = find(found.key, origin, shown);
    try {
      entry.value = read_value(*entry.declaration, found.value);
    } catch (const InvalidArgument& error) {
      throw ConfigError(message(origin, found.key, shown, error.what()));
    }
    entry.set = true;
  }
}

void Config::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw ConfigError(fmt::format("--set {}: expected key=value, e.g. --set train.steps=200 (twinax config lists the keys)", assignment));
  }
  std::string_view key = assignment.substr(0, equals);
  while (key.starts_with(' ')) key.remove_prefix(1);
  while (key.ends_with(' ')) key.remove_suffix(1);
  set(key, assignment.substr(equals + 1), "--set");
}

void Config::set(std::string_view key, std::string_view text, std::string_view origin) {
  Entry& entry = find(key, origin, text);
  try {
    entry.value = read_value(*entry.declaration, text);
  } catch (const InvalidArgument& error) {
    throw ConfigError(message(origin, key, text, error.what()));
  }
  entry.set = true;
}

Config::Entry& Config::find(std::string_view key, std::string_view origin, std::string_view shown) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) throw ConfigError(message(origin, key, shown, unknown(key)));
  return entry->second;
}

const Config::Entry& Config::find(std::string_view key, KeyType type) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) throw InvalidArgument(fmt::format("reading the configuration: no key is declared as {}", key));
  const KeyType declared = entry->second.declaration->type;
  if (declared != type) {
    throw InvalidArgument(fmt::format("reading the configuration: {} is declared as {}, not as {}", key, name_of(declared), name_of(type)));
  }
  return entry->second;
}

bool Config::flag(std::string_view key) const {
  return std::get<bool>(find(key, KeyType::Flag).value);
}

std::int64_t Config::integer(std::string_view key) const {
  return std::get<std::int64_t>(find(key, KeyType::Integer).value);
}

double Config::real(std::string_view key) const {
  return std::get<double>(find(key, KeyType::Real).value);
}

const std::string& Config::text(std::string_view key) const {
  return std::get<std::string>(find(key, KeyType::Text).value);
}

Bytes Config::bytes(std::string_view key) const {
  return {std::get<std::int64_t>(find(key, KeyType::Bytes).value)};
}

Seconds Config::seconds(std::string_view key) const {
  return {std::get<double>(find(key, KeyType::Seconds).value)};
}

BytesPerSecond Config::rate(std::string_view key) const {
  return {std::get<double>(find(key, KeyType::Rate).value)};
}

bool Config::is_set(std::string_view key) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) throw InvalidArgument(fmt::format("reading the configuration: no key is declared as {}", key));
  return entry->second.set;
}

std::string Config::to_toml() const {
  std::string out;
  std::string_view table;
  for (const KeyDeclaration& key : config_keys()) {
    if (table_of(key.name) != table) {
      table = table_of(key.name);
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", table);
    }
    out += fmt::format("{} = {}\n", word_of(key.name), toml_text(key, entries_.find(key.name)->second.value));
  }
  return out;
}

std::string config_reference() {
  std::array<std::size_t, 4> widths{};
  const auto cells = [](const KeyDeclaration& key) {
    const std::string quotes = key.type == KeyType::Text ? "\"" : "";
    return std::array{std::string(key.name), std::string(name_of(key.type)), quotes + std::string(key.default_text) + quotes,
                      limits_of(key)};
  };
  for (const KeyDeclaration& key : config_keys()) {
    const auto row = cells(key);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", "key", widths[0], "type", widths[1], "default", widths[2],
                                "allowed", widths[3], "what it is");
  std::string_view table;
  for (const KeyDeclaration& key : config_keys()) {
    if (table_of(key.name) != table) {
      table = table_of(key.name);
      out += fmt::format("\n[{}]\n", table);
    }
    const auto row = cells(key);
    out += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2], widths[2], row[3], widths[3],
                       key.help);
  }
  return out;
}

}  // namespace twinax
