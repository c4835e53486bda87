#include "collective/sizes.hpp"

#include <string>

#include "twinax/base/error.hpp"

namespace twinax::collective {

void check_pieces(std::string_view operation, std::size_t piece, std::size_t whole, int members) {
  if (piece * static_cast<std::size_t>(members) == whole) return;
  throw InvalidArgument(std::string(operation) + " over " + std::to_string(members) + " members: pieces of " + std::to_string(piece) +
                        " elements do not make a whole of " + std::to_string(whole));
}

}  // namespace twinax::collective
