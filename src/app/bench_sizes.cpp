#include "app/bench_sizes.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/error.hpp"
#include "twinax/base/nearest.hpp"
#include "twinax/base/units_text.hpp"

namespace twinax::app {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

[[noreturn]] void refuse(std::string_view part, std::string_view why) {
  throw ConfigError(
      fmt::format("--sizes: \"{}\": {}; sizes are written 64B, 4KiB,1MiB, or as a range 1KiB..64MiB or 1KiB..64MiB*4", part, why));
}

Bytes parse_size(std::string_view text, std::string_view part) {
  Bytes size;
  try {
    size = parse_bytes(text);
  } catch (const InvalidArgument& error) {
    refuse(part, error.what());
  }
  if (size < Bytes{1} || size > kLargestBenchSize) {
    refuse(part, fmt::format("{} is not from 1B to {}", text, to_text(kLargestBenchSize)));
  }
  return size;
}

std::int64_t parse_factor(std::string_view text, std::string_view part) {
  std::int64_t factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || factor < 2) refuse(part, "a range's factor is a whole number from 2");
  return factor;
}

void add_range(std::vector<Bytes>& sizes, std::string_view part, std::size_t dots) {
  std::string_view last = part.substr(dots + 2);
  std::int64_t factor = 2;
  if (const std::size_t star = last.find('*'); star != std::string_view::npos) {
    factor = parse_factor(trimmed(last.substr(star + 1)), part);
    last = last.substr(0, star);
  }
  const Bytes end = parse_size(trimmed(last), part);
  const Bytes begin = parse_size(trimmed(part.substr(0, dots)), part);
  if (end < begin) refuse(part, "the range ends below its beginning");
  for (Bytes size = begin; size <= end; size = size * factor) {
    sizes.push_back(size);
    if (size.value > end.value / factor) break;
  }
}

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  for (const std::string_view part : split(text)) {
    if (part.empty()) refuse(text, "a size is missing");
    if (const std::size_t dots = part.find(".."); dots != std::string_view::npos) {
      add_range(sizes, part, dots);
    } else {
      sizes.push_back(parse_size(part, part));
    }
  }
  return sizes;
}

std::vector<std::string> parse_names(std::string_view text, std::span<const std::string> known, std::string_view option) {
  std::vector<std::string> names;
  for (const std::string_view part : split(text)) {
    if (part == "all") {
      names.assign(known.begin(), known.end());
      return names;
    }
    if (std::ranges::find(known, part) == known.end()) {
      throw ConfigError(fmt::format("{}: \"{}\" is not known; did you mean {}? There are: all, {}", option, part, nearest(part, known),
                                    fmt::join(known, ", ")));
    }
    if (std::ranges::find(names, part) == names.end()) names.emplace_back(part);
  }
  return names;
}

}  // namespace twinax::app
