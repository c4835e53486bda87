#pragma once

#include <cstdint>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/transport.hpp"

namespace twinax::net {

/// Counts the bytes that this rank sends through another transport, which outlives it, by peer and purpose.
class CountedTransport final : public Transport {
 public:
  explicit CountedTransport(Transport& inner);

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose purpose) override;
  Request receive(std::span<std::byte> into, int from_rank, Tag tag) override { return inner_.receive(into, from_rank, tag); }
  void progress() override { inner_.progress(); }
  void wait(Request& request) override { inner_.wait(request); }

  /// Counts bytes that reached a rank by other ways, like those that it read in this rank's memory.
  void add(int to_rank, Bytes bytes, Purpose purpose);
  /// Bytes sent so far to one rank, for all purposes.
  [[nodiscard]] Bytes sent_to(int rank) const;
  /// Bytes sent so far: [to rank][purpose].
  [[nodiscard]] const std::vector<std::int64_t>& sent() const { return sent_; }

 private:
  Transport& inner_;
  std::vector<std::int64_t> sent_;
};

}  // namespace twinax::net
