#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace twinax::net {

/// What bytes are sent for; counters are kept apart by it. Values are part of the record: append only.
enum class Purpose : std::uint8_t { Control, Parameters, Gradients, Metrics };

/// The names of the purposes, in the order of their values.
inline constexpr std::array<std::string_view, 4> kPurposes{"control", "parameters", "gradients", "metrics"};

/// Matches a send with its receive, together with the two ranks. lanes.hpp says how it is made, so that lanes can't match
/// each other's messages.
struct Tag {
  std::uint32_t value = 0;
  friend bool operator==(Tag, Tag) = default;
};

/// A backend's side of an operation in flight.
class Pending {
 public:
  /// `peer`: the other rank, which a hang report names; -1 where there is none.
  explicit Pending(int peer = -1) : peer_(peer) {}
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  /// An operation destroyed in flight is cancelled or drained in a bounded time.
  virtual ~Pending() = default;
  /// Whether it is complete; makes progress on it. Throws what the operation failed with.
  virtual bool test() = 0;
  /// The other rank, -1 where there is none.
  [[nodiscard]] int peer() const { return peer_; }

 private:
  int peer_;
};

/// An operation in flight: move-only; its buffers outlive it. Inactive once waited for.
class [[nodiscard]] Request {
 public:
  Request() = default;
  explicit Request(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  /// Whether there is still something to wait for.
  [[nodiscard]] bool is_active() const { return pending_ != nullptr; }
  /// The rank at the other end, -1 if inactive or unknown.
  [[nodiscard]] int peer() const { return pending_ == nullptr ? -1 : pending_->peer(); }
  /// Tests it once; true when complete (or inactive), after which it is inactive and its buffers are free.
  bool is_done() {
    if (pending_ == nullptr) return true;
    if (!pending_->test()) return false;
    pending_.reset();
    return true;
  }

 private:
  std::unique_ptr<Pending> pending_;
};

/// Moves bytes between ranks: the one interface that everything above sends through.
///
/// Messages of the same (from, to, tag) arrive in the order they were sent. A receive's buffer has exactly the size of the message.
/// Empty messages and messages to oneself are allowed. Threads: one at a time; that lane owns the progress.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// This rank, 0 to size() - 1.
  [[nodiscard]] virtual int rank() const = 0;
  /// The number of ranks.
  [[nodiscard]] virtual int size() const = 0;
  /// Starts a send; `data` stays untouched until the request is done.
  virtual Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose purpose) = 0;
  /// Starts a receive; `into` is the transport's until the request is done.
  virtual Request receive(std::span<std::byte> into, int from_rank, Tag tag) = 0;
  /// Moves what can be moved now, without waiting.
  virtual void progress() = 0;
  /// Waits until `request` is done; sleeps with back-off instead of spinning where threads outnumber cores.
  /// Throws PeerLost if the job is ending because a rank failed.
  virtual void wait(Request& request) = 0;
};

/// Waits for all; in any order.
inline void wait_all(Transport& transport, std::span<Request> requests) {
  for (Request& request : requests) transport.wait(request);
}

}  // namespace twinax::net
