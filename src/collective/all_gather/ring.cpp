#include <utility>

#include "collective/algorithms.hpp"

namespace twinax::collective {

void all_gather_ring(Channel& channel, std::span<std::byte> whole, net::Purpose purpose) {
  channel.begin("all_gather/ring", purpose);
  const std::size_t n = whole.size() / static_cast<std::size_t>(channel.size());
  gather_round(channel, Circle::of(channel), {.whole = whole, .first = 0, .stride = n, .size = n});
}

void gather_round(Channel& channel, const Circle& circle, const Pieces& pieces) {
  const int size = circle.size();
  if (size == 1) return;
  const int left = circle.member(circle.further(-1));
  const int right = circle.member(circle.further(1));
  const std::size_t segments = channel.segments(pieces.size);
  // In step s a rank receives the piece of the member s + 1 places before it, and sends the piece it had before.
  const auto piece = [&](int back) { return pieces.at(circle.further(-back)); };
  const auto post = [&](int step) {
    std::vector<net::Request> requests;
    for (std::size_t k = 0; k < segments; ++k) requests.push_back(channel.receive(channel.segment(piece(step + 1), k), left));
    return requests;
  };
  std::vector<net::Request> current = post(0);
  for (std::size_t k = 0; k < segments; ++k) channel.send_later(channel.segment(piece(0), k), right);
  for (int step = 0; step < size - 1; ++step) {
    const bool is_last = step == size - 2;
    std::vector<net::Request> next;
    if (!is_last) next = post(step + 1);
    for (std::size_t k = 0; k < segments; ++k) {
      channel.wait(current[k], left);
      if (!is_last) channel.send_later(channel.segment(piece(step + 1), k), right);
    }
    current = std::move(next);
  }
  channel.wait_sends();
}

}  // namespace twinax::collective
