#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::app {

/// The largest size that a benchmark takes: MPI counts in an int what one message has.
inline constexpr Bytes kLargestBenchSize{std::int64_t{1} << 30};

/// Sizes from text: sizes and ranges with commas between, in the order given. A range doubles ("1KiB..64MiB") or grows by another factor
/// ("1KiB..64MiB*4"), from its first size while it is no more than its last.
///
/// Throws ConfigError: what was found in --sizes and what is allowed; a number without a unit is refused.
[[nodiscard]] std::vector<Bytes> parse_sizes(std::string_view text);

/// Names with commas between, each one of `known`; "all" stands for all of them. Throws ConfigError that says what `option` may be.
[[nodiscard]] std::vector<std::string> parse_names(std::string_view text, std::span<const std::string> known, std::string_view option);

}  // namespace twinax::app
