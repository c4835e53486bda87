#include "net/active_service.hpp"

#include <algorithm>
#include <exception>
#include <string_view>

namespace twinax::net {
namespace {

/// The text of what a handler threw, cut to what may be sent.
void set_error(std::string& error, std::string_view what) {
  error.assign(what.substr(0, kLongestErrorText));
}

}  // namespace

ActiveService::ActiveService(Transport& transport, const ActiveOptions& options, const std::vector<ActiveHandler>& handlers)
    : transport_(transport),
      handlers_(handlers),
      lane_(options.lane),
      limits_{.largest_payload = static_cast<std::uint64_t>(options.largest_payload.value), .handlers = handlers.size()},
      slots_(static_cast<std::size_t>(options.queue)),
      peers_(static_cast<std::size_t>(transport.size())) {
  const auto largest = static_cast<std::size_t>(limits_.largest_payload);
  free_.reserve(slots_.size());
  answered_.reserve(slots_.size());
  for (Slot& slot : slots_) {
    slot.request = PayloadBuffer(largest);
    slot.reply = PayloadBuffer(largest);
    slot.error.reserve(kLongestErrorText);
    free_.push_back(&slot);
  }
  for (int rank = 0; rank < transport.size(); ++rank) {
    peer(rank).received.reserve(slots_.size());
    listen(rank);
  }
}

void ActiveService::listen(int rank) {
  peer(rank).header_receive = transport_.receive(peer(rank).header_in, rank, active_tag(lane_, ActiveStream::RequestHeader));
}

bool ActiveService::step() {
  bool has_moved = take_back_slots();
  const int ranks = transport_.size();
  for (int i = 0; i < ranks; ++i) {
    const int rank = (first_ + i) % ranks;
    has_moved = take_header(rank) || has_moved;
    has_moved = serve_next(rank) || has_moved;
    has_moved = end(rank) || has_moved;
  }
  first_ = (first_ + 1) % ranks;
  return has_moved;
}

/// A header that finds no free slot stays where it is: its sender's next ones stay with their sender.
bool ActiveService::take_header(int rank) {
  Peer& from = peer(rank);
  if (from.has_ended || free_.empty() || !from.header_receive.is_done()) return false;
  const ActiveHeader header = read_request_header(from.header_in, rank, limits_, from.next_id);
  if (header.kind == ActiveKind::Goodbye) {
    from.has_ended = true;
    return true;
  }
  Slot& slot = *free_.back();
  slot.from = rank;
  slot.handler = header.handler;
  slot.id = header.id;
  const std::span<std::byte> into = slot.request.resize(static_cast<std::size_t>(header.bytes));
  if (!into.empty()) slot.payload_receive = transport_.receive(into, rank, active_tag(lane_, ActiveStream::RequestPayload));
  free_.pop_back();
  from.received.push_back(&slot);
  ++from.next_id;
  listen(rank);
  return true;
}

bool ActiveService::serve_next(int rank) {
  Peer& from = peer(rank);
  if (from.received.empty() || !from.received.front()->payload_receive.is_done()) return false;
  Slot& slot = *from.received.front();
  bool is_error = true;
  slot.reply.resize(0);
  is_serving_ = true;
  try {
    handlers_[slot.handler].serve(rank, slot.request.bytes(), slot.reply);
    is_error = false;
  } catch (const std::exception& failure) {
    set_error(slot.error, failure.what());
  } catch (...) {
    set_error(slot.error, "unknown error");
  }
  is_serving_ = false;
  answer(slot, is_error);
  from.received.erase(from.received.begin());
  answered_.push_back(&slot);
  return true;
}

void ActiveService::answer(Slot& slot, bool is_error) {
  const std::span<const std::byte> payload = is_error ? std::as_bytes(std::span(slot.error)) : slot.reply.bytes();
  const ActiveKind kind = is_error ? ActiveKind::Error : ActiveKind::Reply;
  const Purpose purpose = is_error ? Purpose::Control : handlers_[slot.handler].purpose;
  slot.header = write_header({.kind = kind, .handler = slot.handler, .id = slot.id, .bytes = payload.size()});
  slot.header_send = transport_.send(slot.header, slot.from, active_tag(lane_, ActiveStream::ReplyHeader), Purpose::Control);
  if (!payload.empty()) slot.payload_send = transport_.send(payload, slot.from, active_tag(lane_, ActiveStream::ReplyPayload), purpose);
}

bool ActiveService::take_back_slots() {
  const std::size_t before = answered_.size();
  std::erase_if(answered_, [&](Slot* slot) {
    const bool is_announced = slot->header_send.is_done();  // both are asked, so that each makes progress
    const bool is_sent = slot->payload_send.is_done();
    if (is_announced && is_sent) free_.push_back(slot);
    return is_announced && is_sent;
  });
  return answered_.size() != before;
}

/// After a rank's last request its last reply is followed by a goodbye.
bool ActiveService::end(int rank) {
  Peer& from = peer(rank);
  if (from.goodbye_send.is_active()) return from.goodbye_send.is_done();
  if (!from.has_ended || from.said_goodbye || !from.received.empty()) return false;
  from.goodbye = write_header({.kind = ActiveKind::Goodbye, .handler = 0, .id = from.next_id, .bytes = 0});
  from.goodbye_send = transport_.send(from.goodbye, rank, active_tag(lane_, ActiveStream::ReplyHeader), Purpose::Control);
  from.said_goodbye = true;
  return true;
}

bool ActiveService::is_closed() const {
  const auto has_left = [](const Peer& peer) { return peer.said_goodbye && !peer.goodbye_send.is_active(); };
  return queued() == 0 && std::ranges::all_of(peers_, has_left);
}

}  // namespace twinax::net
