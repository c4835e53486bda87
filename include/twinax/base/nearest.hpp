#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace twinax {

/// Letters to insert, delete, replace or swap with their neighbour to turn one word into the other (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to a misspelt one, for messages; the first of equals, empty if none is known.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace twinax
