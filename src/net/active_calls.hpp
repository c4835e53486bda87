#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "twinax/net/active_messages.hpp"

#include "net/active_header.hpp"

namespace twinax::net {

/// A request of this rank, from its sending until its Call is dropped. What requests in flight use stands before them, to outlive them.
struct OutgoingCall {
  explicit OutgoingCall(std::size_t largest_payload) : own(largest_payload) {}

  int to = 0;
  std::uint16_t handler = 0;
  std::uint64_t id = 0;
  std::span<std::byte> given;  ///< for the reply, unless it is owned
  bool is_given = false;
  PayloadBuffer own;  ///< for the reply, where none was given or that is too small
  std::string error;
  bool is_error = false;
  std::size_t reply_bytes = 0;
  bool is_answered = false;
  ActiveWire header{};
  Request header_send, payload_send, payload_receive;

  [[nodiscard]] bool is_too_large() const { return is_given && reply_bytes > given.size(); }
  /// Cancels what is in flight.
  void drop();
};

/// The requester's side: what this rank asks of each other.
class OutgoingCalls {
 public:
  OutgoingCalls(Transport& transport, const ActiveOptions& options, const std::vector<ActiveHandler>& handlers);

  /// Whether a rank is asked as much as it may be.
  [[nodiscard]] bool is_full(int rank) const { return peer(rank).in_flight.size() >= most_in_flight_; }
  [[nodiscard]] int in_flight(int rank) const { return static_cast<int>(peer(rank).in_flight.size()); }
  /// Sends a request. Not while is_full.
  OutgoingCall& start(int to_rank, std::uint16_t handler, std::span<const std::byte> payload);
  /// Says where the reply goes; before its header can be taken.
  static void place_reply(OutgoingCall& call, std::span<std::byte> reply);
  /// Takes in replies; whether there was anything.
  bool step();
  /// Tells all ranks that no requests follow.
  void say_goodbye();
  /// Whether all ranks have said that no replies follow.
  [[nodiscard]] bool is_closed() const;
  /// Gives back an answered call's place.
  void release(OutgoingCall& call) { free_.push_back(&call); }
  /// Cancels a call in flight: the protocol can't go on after that.
  void abandon(OutgoingCall& call);

 private:
  struct Peer {
    std::uint64_t next_id = 0;
    std::vector<OutgoingCall*> in_flight;  ///< in the order of their sending
    std::size_t announced = 0;             ///< the first of them: those whose reply's header is here
    bool said_goodbye = false;
    bool is_closed = false;
    ActiveWire header_in{};
    ActiveWire goodbye{};
    Request header_receive, goodbye_send;
  };
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  void listen(int rank);
  void take_header(int rank);
  void receive_payload(OutgoingCall& call, std::size_t bytes);
  bool finish(Peer& peer);

  Transport& transport_;
  const std::vector<ActiveHandler>& handlers_;
  std::uint8_t lane_;
  ActiveLimits limits_;
  std::size_t most_in_flight_;
  std::vector<std::unique_ptr<OutgoingCall>> calls_;  // all there ever were at the same time
  std::vector<OutgoingCall*> free_;
  std::vector<Peer> peers_;
};

}  // namespace twinax::net
