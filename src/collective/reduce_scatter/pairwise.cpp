#include <algorithm>
#include <cstring>

#include "twinax/collective/wire.hpp"

#include "collective/algorithms.hpp"
#include "collective/codec.hpp"

namespace twinax::collective {

void reduce_scatter_pairwise(Channel& channel, std::span<const float> whole, std::span<float> shard, std::vector<std::byte>& scratch,
                             Dtype wire, net::Purpose purpose) {
  channel.begin("reduce_scatter/pairwise", purpose);
  const auto size = static_cast<std::size_t>(channel.size());
  const std::size_t n = shard.size();
  const std::size_t piece = static_cast<std::size_t>(wire_size(std::ssize(shard), wire).value);
  const std::size_t to_encode = wire == Dtype::Fp32 ? 0 : size;  // pieces: fp32 is sent from where it is
  if (scratch.size() < (to_encode + size) * piece) scratch.resize((to_encode + size) * piece);
  const std::span<std::byte> outgoing = std::span(scratch).first(to_encode * piece);
  const std::span<std::byte> arrived = std::span(scratch).subspan(to_encode * piece, size * piece);
  const auto part = [&](std::span<std::byte> all, int index) { return all.subspan(static_cast<std::size_t>(index) * piece, piece); };
  std::vector<net::Request> receives;
  const std::size_t segments = channel.segments(piece);
  for (int d = 1; d < channel.size(); ++d) {
    const int from = channel.neighbour(-d);
    for (std::size_t k = 0; k < segments; ++k) receives.push_back(channel.receive(channel.segment(part(arrived, from), k), from));
  }
  for (int d = 1; d < channel.size(); ++d) {
    const int to = channel.neighbour(d);
    const std::span<const float> given = whole.subspan(static_cast<std::size_t>(to) * n, n);
    std::span<const std::byte> bytes = std::as_bytes(given);
    if (wire != Dtype::Fp32) {
      encode(given, part(outgoing, to), wire);
      bytes = part(outgoing, to);
    }
    for (std::size_t k = 0; k < segments; ++k) channel.send_later(channel.segment(bytes, k), to);
  }
  // The own contribution takes the same way through the wire's type, so that the sum does not depend on who makes it.
  encode(whole.subspan(static_cast<std::size_t>(channel.index()) * n, n), part(arrived, channel.index()), wire);
  std::size_t next = 0;
  for (int d = 1; d < channel.size(); ++d) {
    for (std::size_t k = 0; k < segments; ++k) channel.wait(receives[next++], channel.neighbour(-d));
  }
  std::ranges::fill(shard, 0.0F);
  for (int from = 0; from < channel.size(); ++from) add_decoded(part(arrived, from), shard, wire);
  channel.wait_sends();
}

}  // namespace twinax::collective
