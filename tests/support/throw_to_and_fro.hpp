#pragma once

#include <cstdint>
#include <span>

#include "twinax/base/clock.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::test {

/// Throws 8 bytes to a partner and back, `throws` times each: the lower rank begins. Each pauses at random before it answers, so that the
/// other has often gone to sleep. Returns how many came back as they should.
inline int throw_to_and_fro(net::Transport& transport, Clock& clock, int partner, int throws) {
  const int rank = transport.rank();
  const Philox random(20, Draw::Test, static_cast<std::uint32_t>(rank));
  int right = 0;
  for (int i = 0; i < throws; ++i) {
    std::int64_t mine = i, theirs = -1;
    const auto throw_it = [&] {
      const double draw = random.uniform(static_cast<std::uint64_t>(2 * i));
      const double longest_s = draw < 0.02 ? 2e-3 : draw < 0.5 ? 100e-6 : 0;
      if (longest_s > 0) clock.sleep_until(clock.now() + Seconds{longest_s * random.uniform(static_cast<std::uint64_t>(2 * i + 1))});
      net::Request send = transport.send(std::as_bytes(std::span(&mine, 1)), partner, net::Tag{7}, net::Purpose::Control);
      transport.wait(send);
    };
    if (rank < partner) throw_it();
    net::Request receive = transport.receive(std::as_writable_bytes(std::span(&theirs, 1)), partner, net::Tag{7});
    transport.wait(receive);
    right += theirs == i ? 1 : 0;
    if (rank > partner) throw_it();
  }
  return right;
}

}  // namespace twinax::test
