#include <cstring>

#include "collective/algorithms.hpp"

namespace twinax::collective {

void all_gather_exchange(Channel& channel, std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) {
  channel.begin("all_gather/exchange", purpose);
  const std::size_t n = mine.size();
  const auto place = [&](int index) { return all.subspan(static_cast<std::size_t>(index) * n, n); };
  std::vector<net::Request> receives;
  for (int d = 1; d < channel.size(); ++d) receives.push_back(channel.receive(place(channel.neighbour(-d)), channel.neighbour(-d)));
  for (int d = 1; d < channel.size(); ++d) channel.send_later(mine, channel.neighbour(d));
  if (n > 0 && place(channel.index()).data() != mine.data()) std::memcpy(place(channel.index()).data(), mine.data(), n);
  for (int d = 1; d < channel.size(); ++d) channel.wait(receives[static_cast<std::size_t>(d - 1)], channel.neighbour(-d));
  channel.wait_sends();
}

}  // namespace twinax::collective
