#include "collective/sizes.hpp"

#include <string>

#include "twinax/base/error.hpp"

namespace twinax::collective {

void check_pieces(std::string_view operation, std::size_t piece, std::size_t whole, int members) {
  if (piece * static_cast<std::size_t>(members) == whole) return;
  throw InvalidArgument(std::string(operation) + " over " + std::to_string(members) + " members: pieces of " + std::to_string(piece) +
                        " elements do not make a whole of " + std::to_string(whole));
}

void check_root(int root, int members) {
  if (root >= 0 && root < members) return;
  throw InvalidArgument("a broadcast from member " + std::to_string(root) + " of a group of " + std::to_string(members));
}

void check_member(const Group& group, int rank) {
  if (group.index >= 0 && group.index < group.size() && group.ranks[static_cast<std::size_t>(group.index)] == rank) return;
  throw InvalidArgument("rank " + std::to_string(rank) + " is not member " + std::to_string(group.index) + " of its group of " +
                        std::to_string(group.size()));
}

}  // namespace twinax::collective
