#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "twinax/net/transport.hpp"

namespace twinax::test {

/// Bytes sent from each rank to each rank, as the ranks of a run see them.
class SentBytes {
 public:
  explicit SentBytes(int ranks) : ranks_(ranks), bytes_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)) {}
  /// Those from one rank to another. A rank's thread writes its own only.
  [[nodiscard]] std::int64_t& at(int from, int to) { return bytes_[static_cast<std::size_t>(from * ranks_ + to)]; }
  /// What the node that gets most gets from ranks of other nodes; nodes hold `ranks_per_node` ranks in order.
  [[nodiscard]] std::int64_t most_into_node(int ranks_per_node) {
    std::vector<std::int64_t> into(static_cast<std::size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        if (from / ranks_per_node != to / ranks_per_node) into[static_cast<std::size_t>(to / ranks_per_node)] += at(from, to);
      }
    }
    return *std::ranges::max_element(into);
  }
  /// What the rank that gets most gets from the other ranks of its node.
  [[nodiscard]] std::int64_t most_into_rank(int ranks_per_node) {
    std::vector<std::int64_t> into(static_cast<std::size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        if (from != to && from / ranks_per_node == to / ranks_per_node) into[static_cast<std::size_t>(to)] += at(from, to);
      }
    }
    return *std::ranges::max_element(into);
  }
  /// What is sent most from one rank to one of another node.
  [[nodiscard]] std::int64_t most_through_pair(int ranks_per_node) {
    std::int64_t most = 0;
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        if (from / ranks_per_node != to / ranks_per_node) most = std::max(most, at(from, to));
      }
    }
    return most;
  }

 private:
  int ranks_;
  std::vector<std::int64_t> bytes_;
};

/// Counts what its rank sends.
class CountingTransport final : public net::Transport {
 public:
  CountingTransport(net::Transport& inner, SentBytes& sent) : inner_(inner), sent_(sent) {}
  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  net::Request send(std::span<const std::byte> data, int to_rank, net::Tag tag, net::Purpose purpose) override {
    sent_.at(rank(), to_rank) += static_cast<std::int64_t>(data.size());
    return inner_.send(data, to_rank, tag, purpose);
  }
  net::Request receive(std::span<std::byte> into, int from_rank, net::Tag tag) override { return inner_.receive(into, from_rank, tag); }
  void progress() override { inner_.progress(); }
  void wait(net::Request& request) override { inner_.wait(request); }

 private:
  net::Transport& inner_;
  SentBytes& sent_;
};

}  // namespace twinax::test
