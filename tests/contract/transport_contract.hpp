#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/transport.hpp"

#include "contract/wrapping.hpp"

/// What every transport keeps to, bare, shaped and counted: INSTANTIATE_TEST_SUITE_P(.., TransportContract, ..).
namespace twinax::net {

/// One transport: runs a body on all ranks at the same time.
struct TransportRowUnderTest {
  std::string name;
  std::function<void(const RankBody&)> on_all_ranks;
};

class TransportContract : public ::testing::TestWithParam<TransportRowUnderTest> {
 protected:
  static std::vector<std::byte> bytes(std::size_t n, int seed) {
    std::vector<std::byte> data(n);
    for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed) * 101) & 0xff);
    return data;
  }
};

TEST_P(TransportContract, MovesMessagesOfEverySizeBetweenAllPairsAndToOneself) {
  GetParam().on_all_ranks([](Transport& transport) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{300'000}}) {
      std::vector<std::vector<std::byte>> sent, got;
      std::vector<Request> requests;
      for (int peer = 0; peer < transport.size(); ++peer) {
        sent.push_back(bytes(n, transport.rank() * 16 + peer));
        got.emplace_back(n);
      }
      for (int peer = 0; peer < transport.size(); ++peer)
        requests.push_back(transport.receive(got[static_cast<std::size_t>(peer)], peer, Tag{5}));
      for (int peer = 0; peer < transport.size(); ++peer)
        requests.push_back(transport.send(sent[static_cast<std::size_t>(peer)], peer, Tag{5}, Purpose::Gradients));
      wait_all(transport, requests);
      for (int peer = 0; peer < transport.size(); ++peer)
        ASSERT_EQ(got[static_cast<std::size_t>(peer)], bytes(n, peer * 16 + transport.rank())) << n << " bytes from " << peer;
    }
  });
}

TEST_P(TransportContract, KeepsTheOrderOfOneTagAndTellsTagsApart) {
  GetParam().on_all_ranks([](Transport& transport) {
    const int next = (transport.rank() + 1) % transport.size();
    const int previous = (transport.rank() + transport.size() - 1) % transport.size();
    const std::vector<std::size_t> sizes{20'000, 1, 0, 5000};
    std::vector<std::vector<std::byte>> sent, got_a, got_b;
    std::vector<Request> requests;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sent.push_back(bytes(sizes[i], static_cast<int>(i)));
      got_a.emplace_back(sizes[i]);
      got_b.emplace_back(sizes[i]);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(transport.send(sent[i], next, Tag{1}, Purpose::Control));
    for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(transport.send(sent[i], next, Tag{2}, Purpose::Control));
    for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(transport.receive(got_b[i], previous, Tag{2}));
    for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(transport.receive(got_a[i], previous, Tag{1}));
    wait_all(transport, requests);
    ASSERT_EQ(got_a, sent);
    ASSERT_EQ(got_b, sent);
  });
}

TEST_P(TransportContract, MakesProgressWhenItIsOnlyAsked) {
  GetParam().on_all_ranks([](Transport& transport) {
    const int next = (transport.rank() + 1) % transport.size();
    const int previous = (transport.rank() + transport.size() - 1) % transport.size();
    const auto data = bytes(100'000, transport.rank());
    std::vector<std::byte> got(data.size());
    Request receive = transport.receive(got, previous, Tag{1});
    Request send = transport.send(data, next, Tag{1}, Purpose::Control);
    EXPECT_TRUE(send.is_active() || transport.size() == 1);
    while (!receive.is_done() || !send.is_done()) transport.progress();
    ASSERT_EQ(got, bytes(data.size(), previous));
  });
}

TEST_P(TransportContract, RefusesRanksThatDoNotExist) {
  GetParam().on_all_ranks([](Transport& transport) {
    EXPECT_THROW(static_cast<void>(transport.send({}, transport.size(), Tag{1}, Purpose::Control)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(transport.receive({}, -1, Tag{1})), InvalidArgument);
  });
}

inline std::string row_name(const ::testing::TestParamInfo<TransportRowUnderTest>& row) {
  return row.param.name;
}

}  // namespace twinax::net
