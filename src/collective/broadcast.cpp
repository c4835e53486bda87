#include "collective/algorithms.hpp"

namespace twinax::collective {

void broadcast_tree(Channel& channel, std::span<std::byte> data, int root, net::Purpose purpose) {
  channel.begin("broadcast/tree", purpose);
  const int size = channel.size();
  const int place = ((channel.index() - root) % size + size) % size;  // the root has 0
  const auto member = [&](int at) { return (at + root) % size; };
  int reach = 1;
  while (reach < size) reach *= 2;
  // A member gets the data from the one that differs in its lowest set bit, and hands it on across the lower bits.
  int lowest = place == 0 ? reach : place & -place;
  if (place != 0) {
    net::Request request = channel.receive(data, member(place - lowest));
    channel.wait(request, member(place - lowest));
  }
  for (int bit = lowest / 2; bit >= 1; bit /= 2) {
    if (place + bit < size) channel.send_later(data, member(place + bit));
  }
  channel.wait_sends();
}

}  // namespace twinax::collective
