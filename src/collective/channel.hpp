#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/collective/group.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::collective {

/// How algorithms talk: group indices instead of ranks, one tag for each operation, messages cut into segments.
class Channel {
 public:
  /// `activity` and `clock` may be null: nobody is told what is waited for.
  Channel(net::Transport& transport, Group group, std::uint8_t lane, Bytes segment, ActivitySlot* activity, Clock* clock);

  [[nodiscard]] const Group& group() const { return group_; }
  [[nodiscard]] int size() const { return group_.size(); }
  [[nodiscard]] int index() const { return group_.index; }
  /// The member `distance` places further round the ring.
  [[nodiscard]] int neighbour(int distance) const { return ((index() + distance) % size() + size()) % size(); }

  /// Begins an operation: its messages can't match those of the one before or after.
  void begin(std::string_view name, net::Purpose purpose);
  /// Starts a send of the current operation.
  net::Request send(std::span<const std::byte> data, int to_index);
  /// Starts a receive of the current operation.
  net::Request receive(std::span<std::byte> into, int from_index);
  /// Waits; `from_index` (the peer waited for) and `phase` are for hang reports.
  void wait(net::Request& request, int peer_index);
  /// Waits for all sends that `send_later` keeps.
  void wait_sends();
  /// Starts a send whose end `wait_sends` waits for.
  void send_later(std::span<const std::byte> data, int to_index);

  /// How many segments a piece of `bytes` is cut into (at least 1), and the k-th's place. Cuts are multiples of 64 bytes.
  [[nodiscard]] std::size_t segments(std::size_t bytes) const;
  [[nodiscard]] std::span<std::byte> segment(std::span<std::byte> piece, std::size_t k) const;
  [[nodiscard]] std::span<const std::byte> segment(std::span<const std::byte> piece, std::size_t k) const;

 private:
  net::Transport& transport_;
  Group group_;
  std::uint32_t lane_;
  std::size_t segment_bytes_;
  ActivitySlot* activity_;
  Clock* clock_;
  std::uint32_t sequence_ = 0;
  net::Tag tag_;
  net::Purpose purpose_ = net::Purpose::Control;
  std::string_view name_;
  struct Sent {
    net::Request request;
    int to_index;
  };
  std::vector<Sent> sends_;
};

}  // namespace twinax::collective
