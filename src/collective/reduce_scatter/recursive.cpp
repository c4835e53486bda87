#include <algorithm>

#include "collective/algorithms.hpp"

namespace twinax::collective {

void reduce_scatter_recursive(Channel& channel, std::span<float> whole, std::span<float> shard, std::vector<float>& scratch,
                              net::Purpose purpose) {
  channel.begin("reduce_scatter/recursive", purpose);
  const std::size_t n = shard.size();
  if (scratch.size() < whole.size() / 2) scratch.resize(whole.size() / 2);
  // Before a step of distance d a member still sums the 2 d pieces of its block; it keeps the half that it is in.
  for (int distance = channel.size() / 2; distance >= 1; distance /= 2) {
    const int partner = channel.index() ^ distance;
    const auto half = [&](int index) {
      return whole.subspan(static_cast<std::size_t>(index & ~(distance - 1)) * n, static_cast<std::size_t>(distance) * n);
    };
    const std::span<float> kept = half(channel.index());
    const std::span<float> arrived = std::span(scratch).first(kept.size());
    net::Request arrival = channel.receive(std::as_writable_bytes(arrived), partner);
    channel.send_later(std::as_bytes(half(partner)), partner);
    channel.wait(arrival, partner);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] += arrived[i];
  }
  channel.wait_sends();
  std::ranges::copy(whole.subspan(static_cast<std::size_t>(channel.index()) * n, n), shard.begin());
}

}  // namespace twinax::collective
