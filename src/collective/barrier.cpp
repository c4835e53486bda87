#include "collective/algorithms.hpp"

namespace twinax::collective {

void barrier_dissemination(Channel& channel) {
  channel.begin("barrier/dissemination", net::Purpose::Control);
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    net::Request arrival = channel.receive({}, channel.neighbour(-distance));
    channel.send_later({}, channel.neighbour(distance));
    channel.wait(arrival, channel.neighbour(-distance));
  }
  channel.wait_sends();
}

}  // namespace twinax::collective
