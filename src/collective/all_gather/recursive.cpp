#include "collective/algorithms.hpp"

namespace twinax::collective {

void all_gather_recursive(Channel& channel, std::span<std::byte> whole, net::Purpose purpose) {
  channel.begin("all_gather/recursive", purpose);
  const std::size_t n = whole.size() / static_cast<std::size_t>(channel.size());
  // Before a step of distance d a member holds the d pieces of its block; its partner's block is the other half of the next.
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    const int partner = channel.index() ^ distance;
    const auto block = [&](int index) {
      return whole.subspan(static_cast<std::size_t>(index & ~(distance - 1)) * n, static_cast<std::size_t>(distance) * n);
    };
    net::Request arrival = channel.receive(block(partner), partner);
    channel.send_later(block(channel.index()), partner);
    channel.wait(arrival, partner);
  }
  channel.wait_sends();
}

}  // namespace twinax::collective
