#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/lanes.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// Memory of one payload after another: it grows to the largest and is kept.
class PayloadBuffer {
 public:
  /// `largest`: what it refuses to grow beyond.
  explicit PayloadBuffer(std::size_t largest = 0) : largest_(largest) {}
  /// Makes it `size` bytes long, of any content, and returns them. Throws InvalidArgument above the largest payload.
  std::span<std::byte> resize(std::size_t size);
  /// Its bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t largest_;
};

/// Serves one request: reads it, and writes the reply (empty unless resized). What it throws is thrown at the requester, as RemoteError.
/// It runs inside any call of its ActiveMessages, and may make none itself.
using ServeRequest = std::function<void(int from_rank, std::span<const std::byte> request, PayloadBuffer& reply)>;

/// A verb that all ranks know: requests name it by its place in the table.
struct ActiveHandler {
  std::string name;
  Purpose purpose = Purpose::Control;  ///< what its payloads, both ways, are counted as; headers are Control
  ServeRequest serve;
};

/// Limits; the same on all ranks.
struct ActiveOptions {
  std::uint8_t lane = lanes::kActive;  ///< of the tags: its own among all that share the transport
  Bytes largest_payload = mib(4);      ///< of a request and of a reply
  int requests_in_flight = 16;         ///< to one peer
  int queue = 64;                      ///< requests that are being received, served or answered here, from all peers together
};

struct ActiveState;
struct OutgoingCall;

/// A request in flight: move-only. The request's bytes, and the buffer for the reply, outlive it. Dropped in flight it is awaited for a
/// bounded time; if that does not do, its ActiveMessages is of no use any more. Threads: those of its ActiveMessages.
class [[nodiscard]] Call {
 public:
  Call() = default;
  Call(Call&& other) noexcept : state_(std::exchange(other.state_, nullptr)), call_(std::exchange(other.call_, nullptr)) {}
  Call& operator=(Call&& other) noexcept {
    Call taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(call_, taken.call_);
    return *this;
  }
  ~Call();

  /// Whether there is a reply to wait for, or to read.
  [[nodiscard]] bool is_active() const { return call_ != nullptr; }
  /// The rank that is asked; -1 if inactive.
  [[nodiscard]] int peer() const;
  /// Moves what can be moved, serving too; true once the reply, or an error, is here (or if inactive). From then on the request's bytes
  /// are free, and so is its place among those in flight.
  bool is_done();
  /// Waits for the reply, serving meanwhile: its bytes, in the buffer that was given for it, or valid as long as this call. May be called
  /// again. Throws RemoteError if the handler failed, InvalidArgument if the reply is too large for the buffer that was given for it.
  std::span<const std::byte> wait();

 private:
  friend class ActiveMessages;
  Call(ActiveState& state, OutgoingCall& call) : state_(&state), call_(&call) {}
  ActiveState* state_ = nullptr;
  OutgoingCall* call_ = nullptr;
};

/// Requests and replies between all ranks of a transport, over its messages: shaped, counted and moved as all others are.
///
/// A request is a header of fixed size, for which each rank holds a receive ready for each peer, and a payload of its own. Nothing that a
/// peer sends is used before it was checked: what breaks the protocol throws ProtocolError, which names the rank, from every call from then
/// on. Back-pressure: a request beyond `requests_in_flight` waits for a reply, serving meanwhile, so that ranks that flood each other make
/// progress; a full queue leaves requests with their sender. Requests of one peer are served in the order of their sending. Its own memory
/// is kept and used again: at most (queue + calls in hand) * 2 payloads.
///
/// All ranks make one with equal options and handlers, use it, and close() it. Ranks may ask themselves. Threads: one at a time.
class ActiveMessages {
 public:
  /// `transport` and what `context` points to outlive it. Throws InvalidArgument for limits that are none.
  ActiveMessages(Transport& transport, const WaitContext& context, const ActiveOptions& options, std::vector<ActiveHandler> handlers);
  ActiveMessages(const ActiveMessages&) = delete;
  ActiveMessages& operator=(const ActiveMessages&) = delete;
  /// Without close(): cancels what is in flight, as the transport cancels.
  ~ActiveMessages();

  /// Starts a request whose reply is kept by the call. Waits while there are too many in flight to that rank. Throws InvalidArgument for
  /// a rank or handler that does not exist, for a payload over the largest, inside a handler, and after close().
  Call request(int to_rank, std::size_t handler, std::span<const std::byte> payload);
  /// The same; the reply, which may be shorter, goes to the beginning of `reply`.
  Call request(int to_rank, std::size_t handler, std::span<const std::byte> payload, std::span<std::byte> reply);
  /// Moves and serves what can be now, without waiting; whether that was anything.
  bool progress();
  /// Waits until all own requests are answered and all ranks have come here, serving meanwhile: then nothing is in flight. Collective.
  void close();

  /// Requests in flight to a rank, those whose reply is here not counted.
  [[nodiscard]] int in_flight(int rank) const;
  /// Requests that are being received, served or answered here.
  [[nodiscard]] int queued() const;

 private:
  OutgoingCall& start(int to_rank, std::size_t handler, std::span<const std::byte> payload);
  std::unique_ptr<ActiveState> state_;
};

}  // namespace twinax::net
