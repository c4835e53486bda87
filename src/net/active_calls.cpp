#include "net/active_calls.hpp"

#include <algorithm>

namespace twinax::net {

void OutgoingCall::drop() {
  payload_receive = {};
  header_send = {};
  payload_send = {};
}

OutgoingCalls::OutgoingCalls(Transport& transport, const ActiveOptions& options, const std::vector<ActiveHandler>& handlers)
    : transport_(transport),
      handlers_(handlers),
      lane_(options.lane),
      limits_{.largest_payload = static_cast<std::uint64_t>(options.largest_payload.value), .handlers = handlers.size()},
      most_in_flight_(static_cast<std::size_t>(options.requests_in_flight)),
      peers_(static_cast<std::size_t>(transport.size())) {
  for (int rank = 0; rank < transport.size(); ++rank) {
    peer(rank).in_flight.reserve(most_in_flight_);
    listen(rank);
  }
}

void OutgoingCalls::listen(int rank) {
  peer(rank).header_receive = transport_.receive(peer(rank).header_in, rank, active_tag(lane_, ActiveStream::ReplyHeader));
}

OutgoingCall& OutgoingCalls::start(int to_rank, std::uint16_t handler, std::span<const std::byte> payload) {
  if (free_.empty()) {
    calls_.push_back(std::make_unique<OutgoingCall>(static_cast<std::size_t>(limits_.largest_payload)));
    calls_.back()->error.reserve(kLongestErrorText);
    free_.reserve(calls_.size());
    free_.push_back(calls_.back().get());
  }
  Peer& to = peer(to_rank);
  OutgoingCall& call = *free_.back();
  call.to = to_rank;
  call.handler = handler;
  call.id = to.next_id;
  call.given = {};
  call.is_given = call.is_error = call.is_answered = false;
  call.reply_bytes = 0;
  call.header = write_header({.kind = ActiveKind::Request, .handler = handler, .id = call.id, .bytes = payload.size()});
  call.header_send = transport_.send(call.header, to_rank, active_tag(lane_, ActiveStream::RequestHeader), Purpose::Control);
  if (!payload.empty()) {
    call.payload_send = transport_.send(payload, to_rank, active_tag(lane_, ActiveStream::RequestPayload), handlers_[handler].purpose);
  }
  free_.pop_back();
  ++to.next_id;
  to.in_flight.push_back(&call);
  return call;
}

void OutgoingCalls::place_reply(OutgoingCall& call, std::span<std::byte> reply) {
  call.given = reply;
  call.is_given = true;
}

bool OutgoingCalls::step() {
  bool has_moved = false;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Peer& from = peer(rank);
    while (!from.is_closed && from.header_receive.is_done()) {
      take_header(rank);
      has_moved = true;
    }
    has_moved = finish(from) || has_moved;
    if (from.goodbye_send.is_active() && from.goodbye_send.is_done()) has_moved = true;
  }
  return has_moved;
}

void OutgoingCalls::take_header(int rank) {
  Peer& from = peer(rank);
  OutgoingCall* const call = from.announced < from.in_flight.size() ? from.in_flight[from.announced] : nullptr;
  const Awaited awaited{.is_any = call != nullptr,
                        .id = call != nullptr ? call->id : from.next_id,
                        .handler = call != nullptr ? call->handler : std::uint16_t{0},
                        .said_goodbye = from.said_goodbye};
  const ActiveHeader header = read_reply_header(from.header_in, rank, limits_, awaited);
  if (header.kind == ActiveKind::Goodbye) {
    from.is_closed = true;
    return;
  }
  call->is_error = header.kind == ActiveKind::Error;
  receive_payload(*call, static_cast<std::size_t>(header.bytes));
  ++from.announced;
  listen(rank);
}

void OutgoingCalls::receive_payload(OutgoingCall& call, std::size_t bytes) {
  std::span<std::byte> into;
  if (call.is_error) {
    call.error.resize(bytes);
    into = std::as_writable_bytes(std::span(call.error));
  } else {
    call.reply_bytes = bytes;
    into = call.is_given && !call.is_too_large() ? call.given.first(bytes) : call.own.resize(bytes);
  }
  if (bytes > 0) call.payload_receive = transport_.receive(into, call.to, active_tag(lane_, ActiveStream::ReplyPayload));
}

bool OutgoingCalls::finish(Peer& peer) {
  bool has_moved = false;
  for (std::size_t i = 0; i < peer.announced;) {
    OutgoingCall& call = *peer.in_flight[i];
    // All three are asked, so that each makes progress.
    const bool is_received = call.payload_receive.is_done();
    const bool is_announced = call.header_send.is_done();
    const bool is_sent = call.payload_send.is_done();
    if (!is_received || !is_announced || !is_sent) {
      ++i;
      continue;
    }
    call.is_answered = has_moved = true;
    peer.in_flight.erase(peer.in_flight.begin() + static_cast<std::ptrdiff_t>(i));
    --peer.announced;
  }
  return has_moved;
}

void OutgoingCalls::say_goodbye() {
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Peer& to = peer(rank);
    to.goodbye = write_header({.kind = ActiveKind::Goodbye, .handler = 0, .id = to.next_id, .bytes = 0});
    to.goodbye_send = transport_.send(to.goodbye, rank, active_tag(lane_, ActiveStream::RequestHeader), Purpose::Control);
    to.said_goodbye = true;
  }
}

bool OutgoingCalls::is_closed() const {
  return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.is_closed && !peer.goodbye_send.is_active(); });
}

void OutgoingCalls::abandon(OutgoingCall& call) {
  call.drop();
  Peer& to = peer(call.to);
  const auto found = std::ranges::find(to.in_flight, &call);
  if (found == to.in_flight.end()) return;
  if (static_cast<std::size_t>(found - to.in_flight.begin()) < to.announced) --to.announced;
  to.in_flight.erase(found);
}

}  // namespace twinax::net
