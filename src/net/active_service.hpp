#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "twinax/net/active_messages.hpp"

#include "net/active_header.hpp"

namespace twinax::net {

/// The side that serves: what the other ranks ask of this one.
class ActiveService {
 public:
  ActiveService(Transport& transport, const ActiveOptions& options, const std::vector<ActiveHandler>& handlers);

  /// Requests that are being received, served or answered.
  [[nodiscard]] int queued() const { return static_cast<int>(slots_.size() - free_.size()); }
  /// Whether a handler is running.
  [[nodiscard]] bool is_serving() const { return is_serving_; }
  /// Takes in requests, serves at most one of each rank, sends replies; whether there was anything.
  bool step();
  /// Whether no rank asks any more, and all are answered.
  [[nodiscard]] bool is_closed() const;

 private:
  /// A request from its header's arrival until its reply has left. What its messages use stands before them, to outlive them.
  struct Slot {
    int from = 0;
    std::uint16_t handler = 0;
    std::uint64_t id = 0;
    PayloadBuffer request, reply;
    std::string error;
    ActiveWire header{};
    Request payload_receive, header_send, payload_send;
  };
  struct Peer {
    std::uint64_t next_id = 0;
    std::vector<Slot*> received;  ///< in their order, those whose payload is on its way among them
    bool has_ended = false;       ///< it said goodbye
    bool said_goodbye = false;
    ActiveWire header_in{};
    ActiveWire goodbye{};
    Request header_receive, goodbye_send;
  };
  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void listen(int rank);
  bool take_header(int rank);
  bool serve_next(int rank);
  void answer(Slot& slot, bool is_error);
  bool take_back_slots();
  bool end(int rank);

  Transport& transport_;
  const std::vector<ActiveHandler>& handlers_;
  std::uint8_t lane_;
  ActiveLimits limits_;
  bool is_serving_ = false;
  int first_ = 0;  // whose turn it is
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;      // used like a stack, so that few slots are ever large
  std::vector<Slot*> answered_;  // replies on their way
  std::vector<Peer> peers_;
};

}  // namespace twinax::net
