#include "twinax/net/nic.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "twinax/base/error.hpp"

namespace twinax::net {

Bytes NicBoard::size(int ranks) {
  return Bytes{(2 * ranks + 1) * static_cast<std::int64_t>(sizeof(Nic))};  // one more, since the memory may not be aligned
}

NicBoard::NicBoard(std::shared_ptr<std::byte[]> memory, int ranks, int ranks_per_node)
    : memory_(std::move(memory)), ranks_(ranks), ranks_per_node_(ranks_per_node) {
  if (ranks_per_node < 1) throw InvalidArgument("an emulated node has at least 1 rank, not " + std::to_string(ranks_per_node));
  void* begin = memory_.get();
  auto room = static_cast<std::size_t>(size(ranks).value);
  // Zeroed memory is a valid, idle Nic, so that ranks need not agree on who makes them.
  nics_ = static_cast<Nic*>(std::align(alignof(Nic), static_cast<std::size_t>(2 * ranks) * sizeof(Nic), begin, room));
}

}  // namespace twinax::net
