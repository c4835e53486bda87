#pragma once

#include <cstddef>
#include <string_view>

#include "twinax/collective/group.hpp"

namespace twinax::collective {

/// Throws InvalidArgument unless `whole` is `members` pieces of `piece` elements.
void check_pieces(std::string_view operation, std::size_t piece, std::size_t whole, int members);
/// Throws InvalidArgument unless `root` is one of the members.
void check_root(int root, int members);
/// Throws InvalidArgument unless `rank` is the group's member at its index.
void check_member(const Group& group, int rank);

}  // namespace twinax::collective
