#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace twinax {

/// A scalar of a TOML file, or a list of scalars.
struct TomlValue {
  using Scalar = std::variant<bool, std::int64_t, double, std::string>;
  std::vector<Scalar> items;  ///< one item unless `is_array`
  bool is_array = false;
};

/// One `key = value` of a file, flattened: tables become dotted prefixes, quoted keys keep their dots (`axes."net.profile"` is
/// `axes.net.profile`).
struct TomlEntry {
  std::string key;
  TomlValue value;
  int line = 0;
};

/// A parsed file: its entries in the order of the file, and its path for messages.
struct TomlFile {
  std::string path;
  std::vector<TomlEntry> entries;
};

/// Reads a file. Throws FileError if it can't be read, ConfigError (file, line, what was found) if it is no valid TOML or
/// has more dots than a configuration ever needs (keys of that depth would exhaust the stack).
[[nodiscard]] TomlFile read_toml(const std::string& path);
/// The same for a text; `path` is used in messages only.
[[nodiscard]] TomlFile parse_toml(const std::string& text, const std::string& path);

/// A value as TOML writes it; reading it back gives the same value.
[[nodiscard]] std::string toml_text(const TomlValue::Scalar& value);
/// The same for a value found in a file, for messages.
[[nodiscard]] std::string toml_text(const TomlValue& value);

}  // namespace twinax
