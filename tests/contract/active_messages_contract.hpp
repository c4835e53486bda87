#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/active_messages.hpp"

#include "contract/wrapping.hpp"
#include "net/active_header.hpp"

/// What active messages keep to over every transport: INSTANTIATE_TEST_SUITE_P(.., ActiveMessagesContract, ..).
namespace twinax::net {

/// What a test does on each rank; `context` is what its waits share.
using ActiveBody = std::function<void(Transport&, const WaitContext&)>;

/// One transport: runs a body on all ranks at the same time.
struct ActiveRow {
  std::string name;
  std::function<void(const ActiveBody&)> on_all_ranks;
};

inline std::string active_row_name(const ::testing::TestParamInfo<ActiveRow>& row) {
  return row.param.name;
}

class ActiveMessagesContract : public ::testing::TestWithParam<ActiveRow> {
 protected:
  /// The handlers of all tests here.
  enum : std::size_t { kEcho, kSum, kFail, kLength };
  static constexpr std::string_view kFailure = "no such row";

  static std::vector<ActiveHandler> handlers() {
    return {{"echo", Purpose::Parameters,
             [](int, std::span<const std::byte> request, PayloadBuffer& reply) {
               std::ranges::copy(request, reply.resize(request.size()).begin());
             }},
            {"sum", Purpose::Gradients,
             [](int from, std::span<const std::byte> request, PayloadBuffer& reply) {
               put(reply, sum(request) + static_cast<std::uint64_t>(from));
             }},
            {"fail", Purpose::Control,
             [](int, std::span<const std::byte>, PayloadBuffer& reply) {
               reply.resize(8);
               throw std::runtime_error(std::string(kFailure));
             }},
            {"length", Purpose::Parameters, [](int, std::span<const std::byte> request, PayloadBuffer& reply) {
               std::uint64_t bytes = 0;
               std::memcpy(&bytes, request.data(), sizeof bytes);
               std::ranges::fill(reply.resize(bytes), std::byte{7});
             }}};
  }
  static void put(PayloadBuffer& buffer, std::uint64_t value) { std::memcpy(buffer.resize(sizeof value).data(), &value, sizeof value); }
  static std::uint64_t number(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    if (bytes.size() != sizeof value) return ~value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  static std::uint64_t sum(std::span<const std::byte> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0},
                           [](std::uint64_t total, std::byte b) { return total + std::to_integer<std::uint64_t>(b); });
  }
  static std::vector<std::byte> bytes(std::size_t n, int seed) {
    std::vector<std::byte> data(n);
    for (std::size_t i = 0; i < n; ++i) data[i] = static_cast<std::byte>((i * 29 + static_cast<std::size_t>(seed) * 113 + i / 251) & 0xff);
    return data;
  }
  static std::vector<std::byte> as_bytes(std::uint64_t value) {
    std::vector<std::byte> data(sizeof value);
    std::memcpy(data.data(), &value, sizeof value);
    return data;
  }
  /// What the body throws; "" if nothing.
  template <class Failure, class Body>
  static std::string thrown(const Body& body) {
    try {
      body();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return {};
  }
};

TEST_P(ActiveMessagesContract, AnswersRequestsOfEverySizeFromAllRanksAndFromOneself) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages messages(transport, context, {}, handlers());
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{4} << 20}) {
      std::vector<std::vector<std::byte>> sent, got;
      std::vector<Call> owned, given;
      for (int peer = 0; peer < transport.size(); ++peer) {
        sent.push_back(bytes(n, transport.rank() * 16 + peer));
        got.emplace_back(n);
      }
      for (int peer = 0; peer < transport.size(); ++peer) {
        const auto p = static_cast<std::size_t>(peer);
        owned.push_back(messages.request(peer, kSum, sent[p]));
        given.push_back(messages.request(peer, kEcho, sent[p], got[p]));
      }
      for (int peer = 0; peer < transport.size(); ++peer) {
        const auto p = static_cast<std::size_t>(peer);
        ASSERT_EQ(number(owned[p].wait()), sum(sent[p]) + static_cast<std::uint64_t>(transport.rank())) << n << " bytes at " << peer;
        ASSERT_EQ(given[p].wait().data(), got[p].data());
        ASSERT_EQ(got[p], bytes(n, transport.rank() * 16 + peer)) << n << " bytes from " << peer;
      }
    }
    messages.close();
  });
}

/// Each rank floods each other with limits of one, and overwrites each request as soon as it is done.
TEST_P(ActiveMessagesContract, MakesProgressWhenAllFloodAllWithTinyLimits) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    for (const auto& [in_flight, queue] : {std::pair{1, 1}, std::pair{3, 1}, std::pair{2, 5}}) {
      ActiveMessages messages(transport, context, {.largest_payload = {40'000}, .requests_in_flight = in_flight, .queue = queue},
                              handlers());
      struct InFlight {
        Call call;
        std::vector<std::byte> request;
        std::uint64_t expected = 0;
      };
      std::deque<InFlight> all;
      for (int i = 0; i < 120; ++i) {
        const int peer = (transport.rank() + i) % transport.size();
        InFlight& flight = all.emplace_back();
        flight.request = bytes(i % 10 == 0 ? 40'000 : static_cast<std::size_t>(i % 7), i);
        flight.expected = sum(flight.request) + static_cast<std::uint64_t>(transport.rank());
        flight.call = messages.request(peer, kSum, flight.request);
        ASSERT_LE(messages.in_flight(peer), in_flight);
        ASSERT_LE(messages.queued(), queue);
        while (!all.empty() && all.front().call.is_done()) {
          std::ranges::fill(all.front().request, std::byte{0xff});
          ASSERT_EQ(number(all.front().call.wait()), all.front().expected);
          all.pop_front();
        }
      }
      for (InFlight& flight : all) ASSERT_EQ(number(flight.call.wait()), flight.expected);
      all.clear();
      messages.close();
    }
  });
}

/// Around what is sent eagerly and what the receiver fetches; several in flight, so that memory is used again.
TEST_P(ActiveMessagesContract, IsDoneWithBuffersOfEverySizeWhenItSaysSo) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    constexpr std::byte kOverwritten{0xff};
    ActiveMessages messages(transport, context, {.requests_in_flight = 2, .queue = 3}, handlers());
    struct InFlight {
      std::vector<std::byte> request, reply;
      int seed = 0;
      Call call;
    };
    std::deque<InFlight> all;
    const auto use_again = [&](InFlight& flight) {
      ASSERT_EQ(flight.call.wait().data(), flight.reply.data());
      ASSERT_EQ(flight.reply, bytes(flight.request.size(), flight.seed)) << "echoed by rank " << flight.call.peer();
      std::ranges::fill(flight.reply, kOverwritten);
    };
    int seed = transport.rank() * 1000;
    for (const std::size_t n : {std::size_t{1}, std::size_t{70'001}, std::size_t{1'048'577}, std::size_t{1'500'000}}) {
      for (int peer = 0; peer < transport.size(); ++peer) {
        InFlight& flight =
            all.emplace_back(InFlight{.request = bytes(n, ++seed), .reply = std::vector<std::byte>(n), .seed = seed, .call = {}});
        flight.call = messages.request(peer, kEcho, flight.request, flight.reply);
        for (InFlight& other : all) {
          if (other.call.is_active() && other.call.is_done()) std::ranges::fill(other.request, kOverwritten);
        }
      }
    }
    for (InFlight& flight : all) {
      use_again(flight);
      std::ranges::fill(flight.request, kOverwritten);
    }
    messages.close();
    for (const InFlight& flight : all) {
      EXPECT_EQ(std::ranges::count(flight.request, kOverwritten), std::ssize(flight.request));
      EXPECT_EQ(std::ranges::count(flight.reply, kOverwritten), std::ssize(flight.reply)) << "written after it was done";
    }
  });
}

TEST_P(ActiveMessagesContract, ServesTheRequestsOfARankInTheOrderOfTheirSending) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    std::map<int, std::vector<std::size_t>> served;
    ActiveMessages messages(transport, context, {},
                            {{"note", Purpose::Control, [&](int from, std::span<const std::byte> request, PayloadBuffer&) {
                                served[from].push_back(request.size());
                              }}});
    const std::vector<std::size_t> sizes{300'000, 0, 1, 70'000, 2, 0};
    const auto data = bytes(300'000, 1);
    std::vector<Call> calls;
    for (const std::size_t n : sizes) {
      for (int peer = 0; peer < transport.size(); ++peer) calls.push_back(messages.request(peer, 0, std::span(data).first(n)));
    }
    for (Call& call : calls) EXPECT_TRUE(call.wait().empty());
    messages.close();
    for (int peer = 0; peer < transport.size(); ++peer) EXPECT_EQ(served[peer], sizes) << "from rank " << peer;
  });
}

TEST_P(ActiveMessagesContract, ThrowsAHandlersFailureAtTheRequesterAndGoesOn) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages messages(transport, context, {}, handlers());
    const int peer = (transport.rank() + 1) % transport.size();
    const auto ignored = bytes(100, 1);
    Call failing = messages.request(peer, kFail, ignored);
    EXPECT_EQ(thrown<RemoteError>([&] { failing.wait(); }),
              "rank " + std::to_string(peer) + " could not serve \"fail\": " + std::string(kFailure));
    EXPECT_TRUE(failing.is_done());
    const auto data = bytes(10, 2);
    EXPECT_TRUE(std::ranges::equal(messages.request(peer, kEcho, data).wait(), data));
    // A reply over the limit is the handler's failure.
    const auto too_large = as_bytes((std::uint64_t{4} << 20) + 1);
    Call large = messages.request(peer, kLength, too_large);
    EXPECT_THAT(thrown<RemoteError>([&] { large.wait(); }), ::testing::HasSubstr("4194305 bytes is over the largest, 4194304 bytes"));
    messages.close();
  });
}

TEST_P(ActiveMessagesContract, CutsTheTextOfALongFailure) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    const auto fail = [](int, std::span<const std::byte>, PayloadBuffer&) { throw std::runtime_error(std::string(100'000, 'x')); };
    ActiveMessages messages(transport, context, {.largest_payload = {0}}, {{"fail", Purpose::Control, fail}});
    Call call = messages.request(0, 0, {});
    EXPECT_EQ(thrown<RemoteError>([&] { call.wait(); }), "rank 0 could not serve \"fail\": " + std::string(512, 'x'));
    messages.close();
  });
}

TEST_P(ActiveMessagesContract, RefusesAReplyThatDoesNotFitItsBufferAndGoesOn) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages messages(transport, context, {}, handlers());
    std::vector<std::byte> buffer(64, std::byte{1});
    const auto ask = [&](std::uint64_t n) {
      const auto request = as_bytes(n);
      return messages.request(0, kLength, request, buffer).wait().size();
    };
    EXPECT_EQ(ask(64), 64U);
    EXPECT_EQ(ask(3), 3U);
    std::ranges::fill(buffer, std::byte{1});
    EXPECT_EQ(thrown<InvalidArgument>([&] { ask(65); }), "the reply of rank 0 to \"length\" has 65 bytes, more than the 64 given for it");
    EXPECT_EQ(buffer, std::vector<std::byte>(64, std::byte{1}));
    EXPECT_EQ(ask(0), 0U);
    messages.close();
  });
}

TEST_P(ActiveMessagesContract, RefusesWhatCanNotBeSentBeforeAnythingIs) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages messages(transport, context, {.largest_payload = {100}}, handlers());
    const auto refused = [&](int to, std::size_t handler, std::size_t n) {
      return thrown<InvalidArgument>([&] { static_cast<void>(messages.request(to, handler, bytes(n, 0))); });
    };
    EXPECT_EQ(refused(0, kEcho, 101), "a request to \"echo\" of 101 bytes: the largest payload is 100 bytes");
    EXPECT_EQ(refused(0, 4, 1), "a request to handler 4: there are 4");
    EXPECT_EQ(refused(transport.size(), kEcho, 1),
              "a request to rank " + std::to_string(transport.size()) + ": there are ranks 0 to " + std::to_string(transport.size() - 1));
    EXPECT_EQ(refused(-1, kEcho, 1).substr(0, 21), "a request to rank -1:");
    messages.close();
    EXPECT_EQ(refused(0, kEcho, 1), "a request after active messages were closed");
  });
}

TEST_P(ActiveMessagesContract, RefusesCallsInsideAHandler) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages* itself = nullptr;
    const auto nested = [&](int, std::span<const std::byte>, PayloadBuffer&) { static_cast<void>(itself->request(0, 0, {})); };
    ActiveMessages messages(transport, context, {}, {{"nested", Purpose::Control, nested}});
    itself = &messages;
    Call call = messages.request(0, 0, {});
    EXPECT_THAT(thrown<RemoteError>([&] { call.wait(); }), ::testing::HasSubstr("a request inside a handler of active messages"));
    messages.close();
  });
}

TEST_P(ActiveMessagesContract, AwaitsACallThatIsDroppedInFlight) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    ActiveMessages messages(transport, context, {}, handlers());
    const auto data = bytes(50'000, 3);
    for (int peer = 0; peer < transport.size(); ++peer) static_cast<void>(messages.request(peer, kEcho, data));
    EXPECT_EQ(number(messages.request(0, kSum, data).wait()), sum(data) + static_cast<std::uint64_t>(transport.rank()));
    messages.close();
  });
}

/// Two services and plain messages at the same time. A service is closed only once nobody needs this rank's other one.
TEST_P(ActiveMessagesContract, SharesItsTransportWithOtherLanes) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    const auto answer = [](std::uint64_t value) {
      return std::vector<ActiveHandler>{{"answer", Purpose::Control, [value](int, auto, PayloadBuffer& reply) { put(reply, value); }}};
    };
    ActiveMessages one(transport, context, {.lane = 5}, answer(1));
    ActiveMessages two(transport, context, {.lane = 6}, answer(2));
    const int next = (transport.rank() + 1) % transport.size();
    const int previous = (transport.rank() + transport.size() - 1) % transport.size();
    const std::byte done{9};
    std::byte previous_done{0};
    Request receive = transport.receive(std::span(&previous_done, 1), previous, Tag{1U << 14});
    Call first = one.request(next, 0, {});
    Call second = two.request(next, 0, {});
    while (!first.is_done() || !second.is_done()) {
      one.progress();
      two.progress();
    }
    EXPECT_EQ(number(first.wait()), 1U);
    EXPECT_EQ(number(second.wait()), 2U);
    Request send = transport.send(std::span(&done, 1), next, Tag{1U << 14}, Purpose::Control);
    while (!receive.is_done() || !send.is_done()) {
      one.progress();
      two.progress();
    }
    EXPECT_EQ(previous_done, done);
    one.close();
    two.close();
  });
}

/// Rank 0 forges what it sends to the last rank; on one rank, to itself.
TEST_P(ActiveMessagesContract, RefusesAForgedHeaderFromAPeer) {
  GetParam().on_all_ranks([](Transport& transport, const WaitContext& context) {
    const int victim = transport.size() - 1;
    ActiveMessages* messages = nullptr;
    std::unique_ptr<ActiveMessages> mine;
    if (transport.rank() == victim) {
      mine = std::make_unique<ActiveMessages>(transport, context, ActiveOptions{.largest_payload = {1000}}, handlers());
      messages = mine.get();
    }
    Request forged;
    ActiveWire wire = write_header({.kind = ActiveKind::Request, .handler = kEcho, .id = 0, .bytes = std::uint64_t{1} << 62});
    if (transport.rank() == 0)
      forged = transport.send(wire, victim, active_tag(lanes::kActive, ActiveStream::RequestHeader), Purpose::Control);
    if (messages != nullptr) {
      const std::string expected = "active messages from rank 0: request 0 announces 4611686018427387904 bytes, at most 1000 are allowed";
      const auto serve = [&] {
        while (true) messages->progress();
      };
      EXPECT_EQ(thrown<ProtocolError>(serve), expected);
      EXPECT_EQ(thrown<ProtocolError>([&] { messages->close(); }), expected);  // it stays refused
      EXPECT_EQ(thrown<ProtocolError>([&] { static_cast<void>(messages->request(0, kEcho, {})); }), expected);
    }
    transport.wait(forged);
  });
}

}  // namespace twinax::net
