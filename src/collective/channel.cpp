#include "collective/channel.hpp"

#include <algorithm>
#include <utility>

#include "twinax/base/error.hpp"
#include "twinax/net/lanes.hpp"

#include "collective/sizes.hpp"

namespace twinax::collective {

Channel::Channel(net::Transport& transport, Group group, std::uint8_t lane, Bytes segment, ActivitySlot* activity, Clock* clock)
    : transport_(transport),
      group_(std::move(group)),
      lane_(lane),
      segment_bytes_(static_cast<std::size_t>(std::max<std::int64_t>(segment.value, 64)) / 64 * 64),
      activity_(activity),
      clock_(clock) {
  check_member(group_, transport.rank());
  if (lane > net::lanes::kLargest) {
    throw InvalidArgument("lane " + std::to_string(lane) + " of a tag is over " + std::to_string(net::lanes::kLargest));
  }
}

void Channel::begin(std::string_view name, net::Purpose purpose) {
  tag_ = net::lanes::tag(lane_, ++sequence_);
  purpose_ = purpose;
  name_ = name;
}

net::Request Channel::send(std::span<const std::byte> data, int to_index) {
  return transport_.send(data, group_.ranks[static_cast<std::size_t>(to_index)], tag_, purpose_);
}

net::Request Channel::receive(std::span<std::byte> into, int from_index) {
  return transport_.receive(into, group_.ranks[static_cast<std::size_t>(from_index)], tag_);
}

void Channel::wait(net::Request& request, int peer_index) {
  if (request.is_done()) return;
  if (activity_ != nullptr && clock_ != nullptr)
    activity_->wait_for(name_, group_.ranks[static_cast<std::size_t>(peer_index)], clock_->now());
  try {
    transport_.wait(request);
  } catch (...) {
    sends_.clear();  // before the caller's buffers go
    throw;
  }
}

void Channel::send_later(std::span<const std::byte> data, int to_index) {
  sends_.push_back({.request = send(data, to_index), .to_index = to_index});
}

void Channel::wait_sends() {
  for (Sent& sent : sends_) wait(sent.request, sent.to_index);
  sends_.clear();
}

std::size_t Channel::segments(std::size_t bytes) const {
  return std::max<std::size_t>((bytes + segment_bytes_ - 1) / segment_bytes_, 1);
}

std::span<std::byte> Channel::segment(std::span<std::byte> piece, std::size_t k) const {
  const std::size_t begin = std::min(k * segment_bytes_, piece.size());
  return piece.subspan(begin, std::min(segment_bytes_, piece.size() - begin));
}

std::span<const std::byte> Channel::segment(std::span<const std::byte> piece, std::size_t k) const {
  const std::size_t begin = std::min(k * segment_bytes_, piece.size());
  return piece.subspan(begin, std::min(segment_bytes_, piece.size() - begin));
}

}  // namespace twinax::collective
