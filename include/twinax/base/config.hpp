#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/toml.hpp"
#include "twinax/base/units.hpp"

namespace twinax {

/// The type of a key's value.
enum class KeyType : std::uint8_t { Flag, Integer, Real, Text, Bytes, Seconds, Rate };

/// One key's declaration: the only place that knows its type, default, range and help.
struct KeyDeclaration {
  std::string_view name;  ///< dotted, e.g. "train.steps"
  KeyType type;
  std::string_view default_text;          ///< as it would be written with --set
  double minimum, maximum;                ///< of numbers and quantities (base units); of no meaning for texts and flags
  std::vector<std::string_view> allowed;  ///< of texts: the choices, empty = any
  std::string_view help;                  ///< one line; says the unit of plain numbers
};

/// All keys, in the order of the reference.
[[nodiscard]] std::span<const KeyDeclaration> config_keys();

/// The effective configuration: every declared key has a value.
class Config {
 public:
  /// All defaults.
  Config();

  /// Sets keys from a file's entries, but for those named in `ignored_tables` or within them (`sweep`, `axes`, also a single key such as
  /// `base`). Throws ConfigError naming file, line, key, value and what is allowed; an unknown key names the nearest known one.
  ///
  /// Whole numbers will do for Real keys, and a real that is whole (`1e3`) for Integer keys. Quantities are texts with their unit
  /// ("256KiB"), except that a key whose name ends in "seconds" takes a plain number of seconds as well as a time ("60s").
  void apply(const TomlFile& file, std::span<const std::string_view> ignored_tables = {});
  /// Sets one key from `--set key=value` text, read by the key's declared type (a path that looks like a number stays a path). The first
  /// `=` divides.
  void set(std::string_view assignment);
  /// Sets one key from a text value; `origin` is how messages call the source ("--net", "the axis net.profile of demo.toml").
  void set(std::string_view key, std::string_view text, std::string_view origin);

  /// Typed reads. An undeclared key or another type than declared is a bug: throws InvalidArgument.
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;  ///< Real keys
  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] Bytes bytes(std::string_view key) const;
  [[nodiscard]] Seconds seconds(std::string_view key) const;
  [[nodiscard]] BytesPerSecond rate(std::string_view key) const;
  /// Whether the key was set by a file, an option or --set (not left at its default).
  [[nodiscard]] bool is_set(std::string_view key) const;

  /// The effective config as TOML, all keys; reading it back gives the same config.
  [[nodiscard]] std::string to_toml() const;

 private:
  struct Entry {
    const KeyDeclaration* declaration;
    TomlValue::Scalar value;
    bool set = false;
  };
  Entry& find(std::string_view key, std::string_view origin, std::string_view shown);
  [[nodiscard]] const Entry& find(std::string_view key, KeyType type) const;
  std::map<std::string, Entry, std::less<>> entries_;
};

/// The whole reference, as `twinax config` prints it: name, type, default, range or choices, help.
[[nodiscard]] std::string config_reference();

}  // namespace twinax
