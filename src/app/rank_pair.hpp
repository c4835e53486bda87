#pragma once

#include <string_view>
#include <utility>

namespace twinax::app {

/// Two ranks, written "0,1". Throws ConfigError that names `option` if they aren't two different ranks.
[[nodiscard]] std::pair<int, int> parse_pair(std::string_view text, std::string_view option);

/// Throws ConfigError that names `option` if there aren't so many ranks.
void check_pair(std::pair<int, int> pair, int ranks, std::string_view option);

}  // namespace twinax::app
