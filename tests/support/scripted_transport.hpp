#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "twinax/base/error.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::test {

/// One rank of several, whose peers are a script: what they send is put in by the test, what is sent to them is taken.
class ScriptedTransport final : public net::Transport {
 public:
  ScriptedTransport(int rank, int size) : rank_(rank), size_(size) {}

  /// A message from a peer; receives take those of their rank and tag in order.
  void deliver(int from_rank, net::Tag tag, std::vector<std::byte> message) {
    inbox_[{from_rank, tag.value}].push_back(std::move(message));
  }
  /// From now on sends end, or don't.
  void complete_sends(bool complete) { completes_sends_ = complete; }
  /// The messages sent with a tag.
  [[nodiscard]] std::vector<std::vector<std::byte>> sent(net::Tag tag) const {
    const auto found = sent_.find(tag.value);
    return found == sent_.end() ? std::vector<std::vector<std::byte>>{} : found->second;
  }
  /// The largest buffer that a receive had.
  [[nodiscard]] std::size_t largest_receive() const { return largest_receive_; }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  net::Request send(std::span<const std::byte> data, int to_rank, net::Tag tag, net::Purpose /*purpose*/) override {
    sent_[tag.value].emplace_back(data.begin(), data.end());
    return net::Request(std::make_unique<Sent>(*this, to_rank));
  }
  net::Request receive(std::span<std::byte> into, int from_rank, net::Tag tag) override {
    largest_receive_ = std::max(largest_receive_, into.size());
    return net::Request(std::make_unique<Received>(*this, into, from_rank, tag));
  }
  void progress() override {}
  void wait(net::Request& request) override {
    if (!request.is_done()) throw PeerLost("the script is over");
  }

 private:
  using Key = std::pair<int, std::uint32_t>;
  class Sent final : public net::Pending {
   public:
    Sent(ScriptedTransport& transport, int to) : Pending(to), transport_(transport) {}
    bool test() override { return transport_.completes_sends_; }

   private:
    ScriptedTransport& transport_;
  };
  /// Takes its message when it is asked, in the order of posting.
  class Received final : public net::Pending {
   public:
    Received(ScriptedTransport& transport, std::span<std::byte> into, int from, net::Tag tag)
        : Pending(from), transport_(transport), into_(into), key_{from, tag.value} {
      transport_.posted_[key_].push_back(this);
    }
    ~Received() override { std::erase(transport_.posted_[key_], this); }
    bool test() override {
      auto& messages = transport_.inbox_[key_];
      auto& posted = transport_.posted_[key_];
      while (!posted.empty() && !messages.empty()) {
        posted.front()->take(messages.front());
        posted.pop_front();
        messages.pop_front();
      }
      if (wrong_size_) throw InvalidArgument("receiving from rank " + std::to_string(peer()) + ": a message of another size");
      return is_here_;
    }

   private:
    void take(const std::vector<std::byte>& message) {
      is_here_ = message.size() == into_.size();
      wrong_size_ = !is_here_;
      if (is_here_) std::ranges::copy(message, into_.begin());
    }
    ScriptedTransport& transport_;
    std::span<std::byte> into_;
    Key key_;
    bool is_here_ = false;
    bool wrong_size_ = false;
  };

  int rank_, size_;
  bool completes_sends_ = true;
  std::size_t largest_receive_ = 0;
  std::map<Key, std::deque<std::vector<std::byte>>> inbox_;
  std::map<Key, std::deque<Received*>> posted_;
  std::map<std::uint32_t, std::vector<std::vector<std::byte>>> sent_;
};

}  // namespace twinax::test
