#include <algorithm>
#include <array>
#include <utility>

#include "collective/algorithms.hpp"

namespace twinax::collective {
namespace {

std::span<float> as_floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

void reduce_scatter_ring(Channel& channel, std::span<float> whole, std::span<float> shard, std::span<float> scratch, net::Purpose purpose) {
  channel.begin("reduce_scatter/ring", purpose);
  reduce_round(channel, Circle::of(channel), whole, shard, scratch);
}

void reduce_round(Channel& channel, const Circle& circle, std::span<float> whole, std::span<float> shard, std::span<float> scratch) {
  const int size = circle.size();
  const std::size_t n = shard.size();
  if (size == 1) {
    std::ranges::copy(whole, shard.begin());
    return;
  }
  const int left = circle.member(circle.further(-1));
  const int right = circle.member(circle.further(1));
  const std::size_t segments = channel.segments(n * sizeof(float));
  // In step s a rank adds its own part to the sum of the piece s + 2 places before its own, and sends that sum on in step s + 1.
  const auto piece = [&](int back) { return whole.subspan(static_cast<std::size_t>(circle.further(-back)) * n, n); };
  const std::array<std::span<float>, 2> arrived{scratch.first(n), scratch.subspan(n, n)};
  const auto post = [&](int step) {
    std::vector<net::Request> requests;
    for (std::size_t k = 0; k < segments; ++k) {
      requests.push_back(channel.receive(channel.segment(std::as_writable_bytes(arrived[static_cast<std::size_t>(step) % 2]), k), left));
    }
    return requests;
  };
  std::vector<net::Request> current = post(0);
  for (std::size_t k = 0; k < segments; ++k) channel.send_later(channel.segment(std::as_bytes(piece(1)), k), right);
  for (int step = 0; step < size - 1; ++step) {
    const bool is_last = step == size - 2;
    std::vector<net::Request> next;
    if (!is_last) next = post(step + 1);
    const std::span<float> own = piece(step + 2);
    const std::span<float> into = is_last ? shard : own;
    for (std::size_t k = 0; k < segments; ++k) {
      channel.wait(current[k], left);
      const std::span<float> part = as_floats(channel.segment(std::as_writable_bytes(arrived[static_cast<std::size_t>(step) % 2]), k));
      const std::span<float> mine = as_floats(channel.segment(std::as_writable_bytes(own), k));
      const std::span<float> out = as_floats(channel.segment(std::as_writable_bytes(into), k));
      for (std::size_t i = 0; i < part.size(); ++i) out[i] = part[i] + mine[i];
      if (!is_last) channel.send_later(channel.segment(std::as_bytes(own), k), right);
    }
    current = std::move(next);
  }
  channel.wait_sends();
}

}  // namespace twinax::collective
