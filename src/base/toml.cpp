#include "twinax/base/toml.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include <sys/stat.h>

#include "twinax/base/error.hpp"

#include "fmt/format.h"
#include "toml++/toml.h"

namespace twinax {
namespace {

constexpr std::int64_t kLargestFile = 16 * std::int64_t{1024} * 1024;
/// Each dot of a key is a table in a table, which the parser and `flatten` follow by recursion; brackets it bounds itself.
constexpr std::ptrdiff_t kMostDots = 5000;

struct Placed {
  TomlEntry entry;
  std::uint32_t column = 0;
};

[[noreturn]] void refuse(const std::string& path, int line, std::string_view key, std::string_view why) {
  throw ConfigError(fmt::format("{}:{}: {}: {}", path, line, key, why));
}

std::optional<TomlValue::Scalar> scalar_of(const toml::node& node) {
  if (const auto* const flag = node.as_boolean()) return TomlValue::Scalar{flag->get()};
  if (const auto* const integer = node.as_integer()) return TomlValue::Scalar{integer->get()};
  if (const auto* const real = node.as_floating_point()) return TomlValue::Scalar{real->get()};
  if (const auto* const text = node.as_string()) return TomlValue::Scalar{text->get()};
  return std::nullopt;
}

TomlValue value_of(const toml::node& node, const std::string& path, int line, std::string_view key) {
  TomlValue value;
  const toml::array* const list = node.as_array();
  value.is_array = list != nullptr;
  const auto add = [&](const toml::node& item) {
    auto scalar = scalar_of(item);
    if (!scalar) {
      refuse(path, line, key,
             list != nullptr ? "a list may hold numbers, texts and true or false only"
                             : "dates and times are not used here; expected a number, a text in quotes, true or false");
    }
    value.items.push_back(*std::move(scalar));
  };
  if (list == nullptr) {
    add(node);
  } else {
    for (const toml::node& item : *list) add(item);
  }
  return value;
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& path, std::vector<Placed>& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* const inner = node.as_table()) {
      flatten(*inner, name + ".", path, out);
      continue;
    }
    const toml::source_position begin = key.source().begin;
    const auto line = static_cast<int>(begin.line);
    out.push_back({{name, value_of(node, path, line, name), line}, begin.column});
  }
}

std::string_view line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// What to try, for mistakes that the parser's own words don't explain: `rate = 25Gbit/s`, `path = data/a.txt`.
std::string hint_for(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.front() == '[') return {};
  const std::string_view key = line_of(line.substr(0, equals), 1);
  const std::string_view value = line_of(line.substr(equals + 1), 1);
  const bool has_letter = std::any_of(value.begin(), value.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  if (key.empty() || !has_letter || value.find_first_of("\"'[]{},#") != std::string_view::npos) return {};
  return fmt::format("; texts and quantities stand in quotes: {} = \"{}\"", key, value);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out.append(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
    } else {
      out.push_back(c);
    }
  }
  return out + '"';
}

}  // namespace

TomlFile parse_toml(const std::string& text, const std::string& path) {
  if (const auto dots = std::count(text.begin(), text.end(), '.'); dots > kMostDots)
    throw ConfigError(fmt::format("{}: {} dots are too many for a configuration (at most {})", path, dots, kMostDots));
  std::vector<Placed> placed;
  try {
    flatten(toml::parse(text, path), "", path, placed);
  } catch (const toml::parse_error& error) {
    const auto number = static_cast<int>(error.source().begin.line);
    const std::string_view line = line_of(text, number);
    throw ConfigError(fmt::format("{}:{}: {}: {}{}", path, number, line, error.description(), hint_for(line)));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return a.entry.line != b.entry.line ? a.entry.line < b.entry.line : a.column < b.column;
  });
  TomlFile file{path, {}};
  for (Placed& one : placed) file.entries.push_back(std::move(one.entry));
  return file;
}

TomlFile read_toml(const std::string& path) {
  const auto fail = [&path](std::string_view why) -> void { throw FileError(fmt::format("reading the configuration {}: {}", path, why)); };
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("it is a folder, not a TOML file");
  if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
  if (status.st_size > kLargestFile) fail(fmt::format("{} bytes are too many for a TOML file (at most {})", status.st_size, kLargestFile));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream && status.st_size > 0) text << stream.rdbuf();
  if (!stream || !text) fail(errno != 0 ? std::strerror(errno) : "it can't be read");
  return parse_toml(text.str(), path);
}

std::string toml_text(const TomlValue::Scalar& value) {
  if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* const text = std::get_if<std::string>(&value)) return quoted(*text);
  std::string real = fmt::format("{}", std::get<double>(value));
  if (real.find_first_not_of("-0123456789") == std::string::npos) real += ".0";
  return real;
}

std::string toml_text(const TomlValue& value) {
  if (!value.is_array) return toml_text(value.items.at(0));
  std::string list;
  for (const TomlValue::Scalar& item : value.items) list.append(list.empty() ? "" : ", ").append(toml_text(item));
  return "[" + list + "]";
}

}  // namespace twinax
