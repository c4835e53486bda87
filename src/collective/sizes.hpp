#pragma once

#include <cstddef>
#include <string_view>

namespace twinax::collective {

/// Throws InvalidArgument unless `whole` is `members` pieces of `piece` elements.
void check_pieces(std::string_view operation, std::size_t piece, std::size_t whole, int members);

}  // namespace twinax::collective
