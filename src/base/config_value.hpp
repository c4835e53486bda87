#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "twinax/base/config.hpp"

namespace twinax {

/// How a source writes values, for the examples in messages.
enum class Writing : std::uint8_t { Toml, Plain };

/// Brings a value found in a TOML file to the key's type. Throws InvalidArgument: why not, and what is expected, without key and value.
[[nodiscard]] TomlValue::Scalar read_value(const KeyDeclaration& key, const TomlValue& found);
/// The same for a text as it stands after `--set key=`.
[[nodiscard]] TomlValue::Scalar read_value(const KeyDeclaration& key, std::string_view text);

/// "whole number", "real number", "text", ... as the reference calls the type.
[[nodiscard]] std::string_view name_of(KeyType type);
/// What a key's values may be: "1 to 1024", "at least 0", "full, replicate"; empty if anything goes.
[[nodiscard]] std::string limits_of(const KeyDeclaration& key);
/// A key's value as TOML writes it: quantities as texts with their unit.
[[nodiscard]] std::string toml_text(const KeyDeclaration& key, const TomlValue::Scalar& value);

}  // namespace twinax
