#include "app/rank_pair.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {

std::pair<int, int> parse_pair(std::string_view text, std::string_view option) {
  std::pair<int, int> pair{-1, -1};
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, pair.first);
  if (first.ec == std::errc{} && first.ptr != end && *first.ptr == ',') {
    const auto second = std::from_chars(first.ptr + 1, end, pair.second);
    if (second.ec == std::errc{} && second.ptr == end && pair.first >= 0 && pair.second >= 0 && pair.first != pair.second) return pair;
  }
  throw ConfigError(fmt::format("{}: \"{}\": must be two different ranks, such as 0,1", option, text));
}

void check_pair(std::pair<int, int> pair, int ranks, std::string_view option) {
  if (std::max(pair.first, pair.second) < ranks) return;
  throw ConfigError(fmt::format("{} {},{}: there are ranks 0 to {}", option, pair.first, pair.second, ranks - 1));
}

}  // namespace twinax::app
