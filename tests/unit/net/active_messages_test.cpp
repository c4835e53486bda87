#include "twinax/net/active_messages.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/counted.hpp"
#include "twinax/net/loopback.hpp"

#include "net/active_header.hpp"
#include "support/fake_clock.hpp"
#include "support/run_loopback.hpp"
#include "support/scripted_transport.hpp"

// The thread sanitizer brings an operator new of its own: nothing is counted there.
#if defined(__SANITIZE_THREAD__)
#define TWINAX_HAS_OWN_NEW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TWINAX_HAS_OWN_NEW 1
#endif
#endif

#ifndef TWINAX_HAS_OWN_NEW
namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// Not inlined: GCC would take the pair malloc and delete for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
#endif

namespace twinax::net {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void echo(int /*from*/, std::span<const std::byte> request, PayloadBuffer& reply) {
  std::ranges::copy(request, reply.resize(request.size()).begin());
}

std::vector<std::byte> message_of(const ActiveWire& wire) {
  return {wire.begin(), wire.end()};
}

/// Rank 0 of two, whose peer is the test.
struct Scripted {
  explicit Scripted(const ActiveOptions& options = {})
      : messages(transport, {.clock = &clock, .ending = &ending}, options, {{"echo", Purpose::Control, &echo}}) {}
  void deliver(ActiveStream stream, const ActiveHeader& header) {
    transport.deliver(1, active_tag(lanes::kActive, stream), message_of(write_header(header)));
  }
  void deliver(ActiveStream stream, std::vector<std::byte> payload) {
    transport.deliver(1, active_tag(lanes::kActive, stream), std::move(payload));
  }
  void serve() {
    while (messages.progress()) {
    }
  }
  test::FakeClock clock;
  std::atomic<std::uint32_t> ending{1};
  test::ScriptedTransport transport{0, 2};
  ActiveMessages messages;
};

struct Over {};

/// Runs a body that throws Over: messages that a scripted peer never closes end as an error ends them.
template <class Body>
void until_over(const Body& body) {
  EXPECT_THROW(body(), Over);
}

/// Bytes sent are those of the closed form, under the purposes that the table says.
TEST(ActiveMessages, SendsOneHeaderAndOnePayloadEachWay) {
  test::run_loopback(2, [](Transport& bare, const WaitContext& context) {
    CountedTransport transport(bare);
    ActiveMessages messages(transport, context, {}, {{"echo", Purpose::Gradients, &echo}});
    const std::vector<std::byte> data(1000);
    const int peer = 1 - transport.rank();
    messages.request(peer, 0, data).wait();
    messages.request(peer, 0, {}).wait();
    messages.close();
    // This rank's two requests, its two replies, a goodbye on each stream.
    const auto sent = [&](Purpose purpose) {
      return transport.sent()[static_cast<std::size_t>(peer) * kPurposes.size() + static_cast<std::size_t>(purpose)];
    };
    EXPECT_EQ(sent(Purpose::Control), 6 * 24);
    EXPECT_EQ(sent(Purpose::Gradients), 2 * 1000);
  });
}

#ifndef TWINAX_HAS_OWN_NEW
/// Each send and receive of the transport is one allocation of its own.
TEST(ActiveMessages, AllocateNothingOfTheirOwnOnceWarm) {
  SystemClock clock;
  LoopbackFabric fabric(1);
  const WaitContext context{.clock = &clock};
  const auto transport = fabric.attach(0, context);
  ActiveMessages messages(*transport, context, {}, {{"echo", Purpose::Control, &echo}});
  const std::vector<std::byte> data(5000);
  std::vector<Call> calls(10);
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      for (Call& call : calls) call = messages.request(0, 0, data);
      for (Call& call : calls) EXPECT_EQ(call.wait().size(), data.size());
    }
  };
  rounds(3);
  const std::size_t before = allocations;
  rounds(20);
  // A request: header and payload, each sent and received, there and back.
  EXPECT_EQ(allocations - before, 20U * 10U * 8U);
  messages.close();
}
#endif

TEST(ActiveMessages, LeaveRequestsWithTheirSenderWhileTheQueueIsFull) {
  until_over([] {
    Scripted rank({.queue = 2});
    rank.transport.complete_sends(false);
    for (std::uint64_t id = 0; id < 5; ++id)
      rank.deliver(ActiveStream::RequestHeader, {.kind = ActiveKind::Request, .handler = 0, .id = id, .bytes = 0});
    rank.serve();
    EXPECT_EQ(rank.messages.queued(), 2);
    EXPECT_EQ(rank.transport.sent(active_tag(lanes::kActive, ActiveStream::ReplyHeader)).size(), 2U);
    rank.transport.complete_sends(true);
    rank.serve();
    EXPECT_EQ(rank.messages.queued(), 0);
    EXPECT_EQ(rank.transport.sent(active_tag(lanes::kActive, ActiveStream::ReplyHeader)).size(), 5U);
    throw Over{};
  });
}

TEST(ActiveMessages, HoldTheRequestsBytesUntilTheSendIsDone) {
  until_over([] {
    Scripted rank;
    rank.transport.complete_sends(false);
    const std::vector<std::byte> data(10);
    Call call = rank.messages.request(1, 0, data);
    rank.deliver(ActiveStream::ReplyHeader, {.kind = ActiveKind::Reply, .handler = 0, .id = 0, .bytes = 0});
    EXPECT_FALSE(call.is_done());
    rank.transport.complete_sends(true);
    EXPECT_TRUE(call.is_done());
    throw Over{};
  });
}

TEST(ActiveMessages, RefuseAReplyThatNobodyAskedFor) {
  Scripted rank;
  rank.deliver(ActiveStream::ReplyHeader, {.kind = ActiveKind::Reply, .handler = 0, .id = 0, .bytes = 0});
  EXPECT_THAT([&] { rank.serve(); },
              ThrowsMessage<ProtocolError>(HasSubstr("active messages from rank 1: a reply to request 0, which is unknown")));
}

TEST(ActiveMessages, RefuseAPayloadOfAnotherSizeThanAnnounced) {
  Scripted rank;
  rank.deliver(ActiveStream::RequestHeader, {.kind = ActiveKind::Request, .handler = 0, .id = 0, .bytes = 8});
  rank.deliver(ActiveStream::RequestPayload, std::vector<std::byte>(9));
  EXPECT_THAT([&] { rank.serve(); }, ThrowsMessage<InvalidArgument>(HasSubstr("from rank 1")));
  EXPECT_TRUE(rank.transport.sent(active_tag(lanes::kActive, ActiveStream::ReplyHeader)).empty());
}

TEST(ActiveMessages, AreOfNoUseOnceACallWasGivenUpInFlight) {
  Scripted rank;
  {
    const std::vector<std::byte> data(10);
    Call call = rank.messages.request(1, 0, data);
  }
  EXPECT_THAT([&] { rank.messages.close(); },
              ThrowsMessage<ProtocolError>(HasSubstr("a request to rank 1 (\"echo\") was given up in flight")));
}

TEST(ActiveMessages, EndTheirWaitsWhenTheJobEnds) {
  until_over([] {
    Scripted rank({.requests_in_flight = 1});
    Call first = rank.messages.request(1, 0, {});
    EXPECT_THROW(first.wait(), PeerLost);
    EXPECT_THROW(static_cast<void>(rank.messages.request(1, 0, {})), PeerLost);
    EXPECT_THROW(rank.messages.close(), PeerLost);
    throw Over{};
  });
}

TEST(ActiveMessages, RefuseLimitsThatAreNone) {
  SystemClock clock;
  test::ScriptedTransport transport(0, 1);
  const auto making = [&](const ActiveOptions& options) {
    return [&, options] { const ActiveMessages messages(transport, {.clock = &clock}, options, {}); };
  };
  EXPECT_THAT(making({.lane = 64}), ThrowsMessage<InvalidArgument>(HasSubstr("lane 64 of a tag is over 63")));
  EXPECT_THAT(making({.largest_payload = {-1}}), ThrowsMessage<InvalidArgument>(HasSubstr("from 0 to 2^31 - 1 bytes, not -1")));
  EXPECT_THAT(making({.requests_in_flight = 0}), ThrowsMessage<InvalidArgument>(HasSubstr("not 0 and 64")));
  EXPECT_THAT(making({.queue = 0}), ThrowsMessage<InvalidArgument>(HasSubstr("not 16 and 0")));
}

}  // namespace
}  // namespace twinax::net
