#include "twinax/net/counted.hpp"

namespace twinax::net {

CountedTransport::CountedTransport(Transport& inner) : inner_(inner), sent_(static_cast<std::size_t>(inner.size()) * kPurposes.size()) {}

Request CountedTransport::send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose purpose) {
  Request request = inner_.send(data, to_rank, tag, purpose);
  add(to_rank, Bytes{static_cast<std::int64_t>(data.size())}, purpose);
  return request;
}

void CountedTransport::add(int to_rank, Bytes bytes, Purpose purpose) {
  sent_[static_cast<std::size_t>(to_rank) * kPurposes.size() + static_cast<std::size_t>(purpose)] += bytes.value;
}

Bytes CountedTransport::sent_to(int rank) const {
  Bytes sum{0};
  for (std::size_t p = 0; p < kPurposes.size(); ++p) sum += Bytes{sent_[static_cast<std::size_t>(rank) * kPurposes.size() + p]};
  return sum;
}

}  // namespace twinax::net
