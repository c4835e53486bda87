#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::net {

/// What travels with a chunk.
struct Stamp {
  double arrival_s = 0;  ///< when its last byte is at the receiver's NIC, by the host's clock
};

/// A message on its way out.
struct OutMessage {
  std::span<const std::byte> data;
  int to = 0;
  Tag tag;
  Purpose purpose = Purpose::Control;
  Seconds extra_latency{0};  ///< jitter of this message
  std::size_t chunks = 1;
  std::size_t posted = 0;       ///< chunks booked and handed to the inner transport
  Seconds leaves{0};            ///< when the last posted chunk has left the NIC
  std::vector<Stamp> stamps;    ///< one a chunk
  std::deque<Request> flights;  ///< of the inner transport
};

/// A message on its way in.
struct InMessage {
  std::span<std::byte> into;
  int from = 0;
  std::size_t chunks = 1;
  std::size_t stamped = 0;      ///< chunks whose stamp is here
  std::size_t booked = 0;       ///< chunks booked on the receiving NIC
  Seconds arrives{0};           ///< when the last booked chunk is here
  std::vector<Stamp> stamps;    ///< one a chunk
  std::deque<Request> headers;  ///< receives of stamps, in order
  std::deque<Request> flights;  ///< receives of bytes
};

/// All that one rank sends to one other: in order, so that pieces of messages with the same tag can't change places.
struct Flow {
  std::deque<OutMessage*> queue;  ///< messages with chunks to post
  TokenBucket stream;             ///< what one pair of ranks can carry
  Seconds last_leaves{0};
  std::uint64_t messages = 0;  ///< so far: the index of the jitter
};

/// A chunk whose stamp is here and that is not booked yet.
struct Arrival {
  Seconds first_byte{0};
  Seconds last_byte{0};
  Seconds duration{0};
  Nic* nic = nullptr;
  InMessage* message = nullptr;
};

}  // namespace twinax::net
