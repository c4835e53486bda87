#include "collective/algorithms.hpp"

namespace twinax::collective {

void all_reduce_recursive(Channel& channel, std::span<float> values, std::vector<float>& scratch, net::Purpose purpose) {
  channel.begin("all_reduce/recursive", purpose);
  if (scratch.size() < values.size()) scratch.resize(values.size());
  const std::span<float> arrived = std::span(scratch).first(values.size());
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    const int partner = channel.index() ^ distance;
    net::Request arrival = channel.receive(std::as_writable_bytes(arrived), partner);
    channel.send_later(std::as_bytes(values), partner);
    channel.wait(arrival, partner);
    channel.wait_sends();  // before what is being sent is changed
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += arrived[i];
  }
}

}  // namespace twinax::collective
