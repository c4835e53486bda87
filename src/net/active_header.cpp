#include "net/active_header.hpp"

#include <cstring>
#include <string>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::net {
namespace {

constexpr std::uint32_t kMagic = 0x4d415854;  // "TXAM"
constexpr std::uint8_t kVersion = 1;

// Where the fields stand: magic 0, version 4, kind 5, handler 6, id 8, bytes 16.
template <class T>
T read_at(const ActiveWire& wire, std::size_t offset) {
  T value;
  std::memcpy(&value, wire.data() + offset, sizeof value);
  return value;
}

template <class T>
void write_at(ActiveWire& wire, std::size_t offset, T value) {
  std::memcpy(wire.data() + offset, &value, sizeof value);
}

[[noreturn]] void refuse(int from_rank, const std::string& what) {
  throw ProtocolError(fmt::format("active messages from rank {}: {}", from_rank, what));
}

ActiveHeader read_header(const ActiveWire& wire, int from_rank) {
  const auto magic = read_at<std::uint32_t>(wire, 0);
  if (magic != kMagic) refuse(from_rank, fmt::format("a header begins with {:#010x} instead of {:#010x}", magic, kMagic));
  const auto version = read_at<std::uint8_t>(wire, 4);
  if (version != kVersion) {
    refuse(from_rank, fmt::format("a header of version {}, this is version {}: do all ranks run the same program?", version, kVersion));
  }
  const auto kind = read_at<std::uint8_t>(wire, 5);
  if (kind < static_cast<std::uint8_t>(ActiveKind::Request) || kind > static_cast<std::uint8_t>(ActiveKind::Goodbye)) {
    refuse(from_rank, fmt::format("a header of unknown kind {}", kind));
  }
  return {.kind = static_cast<ActiveKind>(kind),
          .handler = read_at<std::uint16_t>(wire, 6),
          .id = read_at<std::uint64_t>(wire, 8),
          .bytes = read_at<std::uint64_t>(wire, 16)};
}

void check_goodbye(const ActiveHeader& header, int from_rank) {
  if (header.bytes == 0 && header.handler == 0) return;
  refuse(from_rank, fmt::format("a goodbye with handler {} and {} bytes", header.handler, header.bytes));
}

void check_payload(const ActiveHeader& header, int from_rank, std::string_view what, std::uint64_t largest) {
  if (header.bytes <= largest) return;
  refuse(from_rank, fmt::format("{} {} announces {} bytes, at most {} are allowed", what, header.id, header.bytes, largest));
}

}  // namespace

ActiveWire write_header(const ActiveHeader& header) {
  ActiveWire wire{};
  write_at(wire, 0, kMagic);
  write_at(wire, 4, kVersion);
  write_at(wire, 5, static_cast<std::uint8_t>(header.kind));
  write_at(wire, 6, header.handler);
  write_at(wire, 8, header.id);
  write_at(wire, 16, header.bytes);
  return wire;
}

ActiveHeader read_request_header(const ActiveWire& wire, int from_rank, const ActiveLimits& limits, std::uint64_t id) {
  const ActiveHeader header = read_header(wire, from_rank);
  if (header.kind != ActiveKind::Request && header.kind != ActiveKind::Goodbye) {
    refuse(from_rank, fmt::format("a header of kind {} among its requests", static_cast<int>(header.kind)));
  }
  if (header.id != id) refuse(from_rank, fmt::format("request {} where {} comes next", header.id, id));
  if (header.kind == ActiveKind::Goodbye) {
    check_goodbye(header, from_rank);
    return header;
  }
  if (header.handler >= limits.handlers) {
    refuse(from_rank, fmt::format("request {} names handler {}, there are {}", header.id, header.handler, limits.handlers));
  }
  check_payload(header, from_rank, "request", limits.largest_payload);
  return header;
}

ActiveHeader read_reply_header(const ActiveWire& wire, int from_rank, const ActiveLimits& limits, const Awaited& awaited) {
  const ActiveHeader header = read_header(wire, from_rank);
  if (header.kind == ActiveKind::Request) refuse(from_rank, "a request among its replies");
  if (header.kind == ActiveKind::Goodbye) {
    check_goodbye(header, from_rank);
    if (awaited.is_any || !awaited.said_goodbye || header.id != awaited.id) {
      refuse(from_rank, fmt::format("an end of replies after {}, while more are asked of it", header.id));
    }
    return header;
  }
  if (!awaited.is_any) refuse(from_rank, fmt::format("a reply to request {}, which is unknown: none waits for a reply", header.id));
  if (header.id != awaited.id) {
    refuse(from_rank, fmt::format("a reply to request {}, which is unknown: the next is to {}", header.id, awaited.id));
  }
  if (header.handler != awaited.handler) {
    refuse(from_rank, fmt::format("a reply of handler {} to request {} of handler {}", header.handler, header.id, awaited.handler));
  }
  const bool is_error = header.kind == ActiveKind::Error;
  check_payload(header, from_rank, is_error ? "the error of request" : "the reply to request",
                is_error ? kLongestErrorText : limits.largest_payload);
  return header;
}

}  // namespace twinax::net
