#include "base/config_value.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <system_error>
#include <variant>

#include "twinax/base/error.hpp"
#include "twinax/base/units_text.hpp"

#include "fmt/format.h"

namespace twinax {
namespace {

/// Whether the key's name says that plain numbers are seconds.
bool says_seconds(const KeyDeclaration& key) {
  return key.name.ends_with("seconds");
}

bool is_quantity(KeyType type) {
  return type == KeyType::Bytes || type == KeyType::Seconds || type == KeyType::Rate;
}

std::string in_unit(const KeyDeclaration& key, double bound) {
  switch (key.type) {
    case KeyType::Bytes:
      return to_text(Bytes{static_cast<std::int64_t>(bound)});
    case KeyType::Seconds:
      return to_text(Seconds{bound});
    case KeyType::Rate:
      return to_text(BytesPerSecond{bound});
    default:
      return fmt::format("{}", bound);
  }
}

std::string example_of(const KeyDeclaration& key, Writing writing) {
  const std::string_view text = key.default_text.empty() ? "some/path" : key.default_text;
  const bool quoted = writing == Writing::Toml && (is_quantity(key.type) || key.type == KeyType::Text);
  return writing == Writing::Toml ? fmt::format("{} = {}{}{}", key.name, quoted ? "\"" : "", text, quoted ? "\"" : "")
                                  : fmt::format("{}={}", key.name, text);
}

/// "expected a whole number (1 to 1024), e.g. train.steps = 200".
std::string expectation(const KeyDeclaration& key, Writing writing) {
  if (key.type == KeyType::Text && !key.allowed.empty())
    return fmt::format("expected one of {}, e.g. {}", limits_of(key), example_of(key, writing));
  if (key.type == KeyType::Flag) return fmt::format("expected true or false, e.g. {}", example_of(key, writing));
  const std::string limits = limits_of(key);
  const std::string_view quotes = key.type == KeyType::Text && writing == Writing::Toml ? " in quotes"
                                  : is_quantity(key.type)                               ? " with its unit"
                                                                                        : "";
  return fmt::format("expected a {}{}{}{}{}, e.g. {}", name_of(key.type), quotes, limits.empty() ? "" : " (", limits,
                     limits.empty() ? "" : ")", example_of(key, writing));
}

[[noreturn]] void refuse(const KeyDeclaration& key, Writing writing, std::string_view why = {}) {
  throw InvalidArgument(fmt::format("{}{}{}", why, why.empty() ? "" : "; ", expectation(key, writing)));
}

template <class Number>
TomlValue::Scalar in_range(const KeyDeclaration& key, Number value, Writing writing) {
  const auto real = static_cast<double>(value);
  if (!(real >= key.minimum && real <= key.maximum) || std::isinf(real)) refuse(key, writing, "out of range");
  return value;
}

std::variant<std::int64_t, double> parse_quantity(KeyType type, std::string_view text) {
  if (type == KeyType::Bytes) return parse_bytes(text).value;
  if (type == KeyType::Rate) return parse_rate(text).value;
  return parse_seconds(text).value;
}

TomlValue::Scalar quantity(const KeyDeclaration& key, std::string_view text, Writing writing) {
  std::variant<std::int64_t, double> value;
  try {
    value = parse_quantity(key.type, text);
  } catch (const InvalidArgument& error) {
    refuse(key, writing, error.what());
  }
  return std::visit([&](auto number) { return in_range(key, number, writing); }, value);
}

/// Whether it is UTF-8 without NUL: TOML can't hold other bytes, nor can a file's name.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (lead == 0 || length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0U) != 0x80U) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F))
      return false;
    i += length;
  }
  return true;
}

TomlValue::Scalar checked_text(const KeyDeclaration& key, std::string_view text, Writing writing) {
  if (!is_utf8(text)) throw InvalidArgument("a text must be UTF-8 without zero bytes");
  if (key.allowed.empty()) return std::string(text);
  for (const std::string_view choice : key.allowed) {
    if (choice == text) return std::string(text);
  }
  refuse(key, writing);
}

TomlValue::Scalar whole(const KeyDeclaration& key, double value, Writing writing) {
  if (!(std::abs(value) <= 0x1p53) || std::floor(value) != value) refuse(key, writing);
  return in_range(key, static_cast<std::int64_t>(value), writing);
}

template <class Number>
std::optional<Number> parse_plain(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// TOML's digits may be grouped, as in 1_000.
std::string ungrouped(std::string_view text) {
  std::string plain;
  const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_' || i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) plain.push_back(text[i]);
  }
  return plain;
}

}  // namespace

TomlValue::Scalar read_value(const KeyDeclaration& key, const TomlValue& found) {
  constexpr Writing kToml = Writing::Toml;
  if (found.is_array) refuse(key, kToml, "a list is not one value");
  const TomlValue::Scalar& scalar = found.items.at(0);
  const auto* const integer = std::get_if<std::int64_t>(&scalar);
  const auto* const real = std::get_if<double>(&scalar);
  const auto* const text = std::get_if<std::string>(&scalar);
  switch (key.type) {
    case KeyType::Flag:
      if (std::holds_alternative<bool>(scalar)) return scalar;
      refuse(key, kToml);
    case KeyType::Integer:
      if (integer != nullptr) return in_range(key, *integer, kToml);
      if (real != nullptr) return whole(key, *real, kToml);
      refuse(key, kToml);
    case KeyType::Text:
      if (text != nullptr) return checked_text(key, *text, kToml);
      refuse(key, kToml);
    case KeyType::Real:
    case KeyType::Bytes:
    case KeyType::Seconds:
    case KeyType::Rate:
      break;
  }
  const bool takes_numbers = key.type == KeyType::Real || says_seconds(key);
  if (takes_numbers && integer != nullptr) return in_range(key, static_cast<double>(*integer), kToml);
  if (takes_numbers && real != nullptr) return in_range(key, *real, kToml);
  if (text != nullptr && (is_quantity(key.type) || says_seconds(key))) return quantity(key, *text, kToml);
  if (is_quantity(key.type) && (integer != nullptr || real != nullptr)) refuse(key, kToml, "a bare number has no unit");
  refuse(key, kToml);
}

TomlValue::Scalar read_value(const KeyDeclaration& key, std::string_view text) {
  constexpr Writing kPlain = Writing::Plain;
  if (key.type == KeyType::Text) return checked_text(key, text, kPlain);
  const std::string plain = ungrouped(trimmed(text));
  if (key.type == KeyType::Flag) {
    if (plain == "true" || plain == "false") return plain == "true";
    refuse(key, kPlain);
  }
  if (key.type == KeyType::Integer) {
    if (const auto integer = parse_plain<std::int64_t>(plain)) return in_range(key, *integer, kPlain);
    if (const auto real = parse_plain<double>(plain)) return whole(key, *real, kPlain);
    refuse(key, kPlain);
  }
  if (key.type == KeyType::Real || says_seconds(key)) {
    if (const auto real = parse_plain<double>(plain)) return in_range(key, *real, kPlain);
  }
  if (is_quantity(key.type) || says_seconds(key)) return quantity(key, text, kPlain);
  refuse(key, kPlain);
}

std::string_view name_of(KeyType type) {
  switch (type) {
    case KeyType::Flag:
      return "true or false";
    case KeyType::Integer:
      return "whole number";
    case KeyType::Real:
      return "number";
    case KeyType::Text:
      return "text";
    case KeyType::Bytes:
      return "volume of data";
    case KeyType::Seconds:
      return "time";
    case KeyType::Rate:
      return "data rate";
  }
  return "";
}

std::string limits_of(const KeyDeclaration& key) {
  if (key.type == KeyType::Flag) return {};
  if (key.type == KeyType::Text) {
    std::string choices;
    for (const std::string_view choice : key.allowed) choices.append(choices.empty() ? "" : ", ").append(choice);
    return choices;
  }
  if (std::isinf(key.minimum)) return std::isinf(key.maximum) ? std::string{} : fmt::format("at most {}", in_unit(key, key.maximum));
  if (std::isinf(key.maximum)) return fmt::format("at least {}", in_unit(key, key.minimum));
  return fmt::format("{} to {}", in_unit(key, key.minimum), in_unit(key, key.maximum));
}

std::string toml_text(const KeyDeclaration& key, const TomlValue::Scalar& value) {
  switch (key.type) {
    case KeyType::Bytes:
      return toml_text(TomlValue::Scalar{to_text(Bytes{std::get<std::int64_t>(value)})});
    case KeyType::Seconds:
      return toml_text(TomlValue::Scalar{to_text(Seconds{std::get<double>(value)})});
    case KeyType::Rate:
      return toml_text(TomlValue::Scalar{to_text(BytesPerSecond{std::get<double>(value)})});
    default:
      return toml_text(value);
  }
}

}  // namespace twinax
