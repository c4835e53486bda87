#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "twinax/net/lanes.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::net {

/// What a header announces. Values are the protocol's.
enum class ActiveKind : std::uint8_t { Request = 1, Reply = 2, Error = 3, Goodbye = 4 };

/// What precedes each payload. Ranks of a job have one byte order.
struct ActiveHeader {
  ActiveKind kind = ActiveKind::Request;
  std::uint16_t handler = 0;
  std::uint64_t id = 0;     ///< requests of one rank to another are counted from 0; a goodbye has the number that there were
  std::uint64_t bytes = 0;  ///< of the payload, which is a message of its own unless it is empty
  friend bool operator==(const ActiveHeader&, const ActiveHeader&) = default;
};

/// A header as it is sent.
using ActiveWire = std::array<std::byte, 24>;

/// What headers are checked against.
struct ActiveLimits {
  std::uint64_t largest_payload = 0;
  std::uint64_t handlers = 0;
};

inline constexpr std::size_t kLongestErrorText = 512;

/// The four streams between two ranks. Replies have their own, so that requests that must wait never hold them up.
enum class ActiveStream : std::uint8_t { RequestHeader, RequestPayload, ReplyHeader, ReplyPayload };

/// A stream's tag.
constexpr Tag active_tag(std::uint8_t lane, ActiveStream stream) {
  return lanes::tag(lane, static_cast<std::uint32_t>(stream));
}

/// As it is sent.
[[nodiscard]] ActiveWire write_header(const ActiveHeader& header);

/// A header of the stream of requests: a request, or the goodbye. `id`: that of the next request. Throws ProtocolError.
[[nodiscard]] ActiveHeader read_request_header(const ActiveWire& wire, int from_rank, const ActiveLimits& limits, std::uint64_t id);

/// The request that the next reply must answer.
struct Awaited {
  bool is_any = false;  ///< whether there is one
  std::uint64_t id = 0;
  std::uint16_t handler = 0;
  bool said_goodbye = false;  ///< there will be no more
};

/// A header of the stream of replies: a reply, an error, or the goodbye. Throws ProtocolError.
[[nodiscard]] ActiveHeader read_reply_header(const ActiveWire& wire, int from_rank, const ActiveLimits& limits, const Awaited& awaited);

}  // namespace twinax::net
