#include "twinax/net/counted.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

TEST(Counted, CountsWhatIsSentByPeerAndPurpose) {
  test::run_loopback(3, [](Transport& inner) {
    CountedTransport transport(inner);
    std::vector<Request> requests;
    std::vector<std::byte> data(100), got_a(100), got_b(100);
    const auto bytes = std::span<const std::byte>(data);
    const int next = (transport.rank() + 1) % 3;
    const int previous = (transport.rank() + 2) % 3;
    requests.push_back(transport.receive(std::span(got_a).first(7), previous, Tag{1}));
    requests.push_back(transport.receive(got_b, previous, Tag{2}));
    requests.push_back(transport.send(bytes.first(7), next, Tag{1}, Purpose::Parameters));
    requests.push_back(transport.send(bytes, next, Tag{2}, Purpose::Gradients));
    wait_all(transport, requests);
    std::vector<std::int64_t> expected(3 * kPurposes.size());
    expected[static_cast<std::size_t>(next) * kPurposes.size() + 1] = 7;
    expected[static_cast<std::size_t>(next) * kPurposes.size() + 2] = 100;
    EXPECT_EQ(transport.sent(), expected);
    EXPECT_EQ(transport.sent_to(next), Bytes{107});
    EXPECT_EQ(transport.sent_to(previous), Bytes{0});
  });
}

}  // namespace
}  // namespace twinax::net
