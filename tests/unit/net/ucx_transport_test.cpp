#include "twinax/net/ucx_transport.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/mpi_world.hpp"
#include "support/throw_to_and_fro.hpp"

namespace twinax::net {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::byte kOverwritten{0xee};

/// A transport of its own for each test, whose waits never spin for long.
class UcxTransport : public ::testing::Test {
 protected:
  UcxTransport() {
    WaitContext context = test::world().wait_context();
    context.has_spare_cores = false;
    transport_ = make_ucx_transport(*test::world().mpi_comm(), context, test::world().hosts(), &sleeps_);
  }

  [[nodiscard]] Transport& transport() const { return *transport_; }
  [[nodiscard]] int rank() const { return transport_->rank(); }
  [[nodiscard]] int size() const { return transport_->size(); }
  [[nodiscard]] int next() const { return (rank() + 1) % size(); }
  [[nodiscard]] int previous() const { return (rank() + size() - 1) % size(); }

  /// So many messages of 8 bytes between all pairs of ranks together.
  void throw_in_pairs(int messages) {
    const int partner = rank() ^ 1;
    if (partner < size()) {
      const int throws = messages / (size() / 2) / 2;
      EXPECT_EQ(test::throw_to_and_fro(transport(), *test::world().wait_context().clock, partner, throws), throws);
      EXPECT_GT(sleeps_.sleeps, 0);
    }
    EXPECT_EQ(sleeps_.lost_wakeups, 0) << "of " << sleeps_.sleeps << " sleeps, of which " << sleeps_.timeouts << " timed out";
  }

  UcxSleeps sleeps_;
  std::unique_ptr<Transport> transport_;
};

std::byte pattern(std::size_t i, unsigned seed) {
  return static_cast<std::byte>((i * 2654435761U >> 7 ^ i ^ seed * 97U) & 0xff);
}

std::vector<std::byte> made(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(i, seed);
  return data;
}

/// The first byte that is not the pattern's, or the size.
std::size_t first_wrong(const std::vector<std::byte>& data, unsigned seed) {
  std::size_t i = 0;
  while (i < data.size() && data[i] == pattern(i, seed)) ++i;
  return i;
}

TEST_F(UcxTransport, IsDoneWithABufferWhenItSaysSo) {
  // Around what is copied at once, what is sent eagerly in pieces, and what the receiver fetches.
  const std::vector<std::size_t> sizes{1,    91,     92,     93,     1023,    8191,    8192,    8193,
                                       8256, 32'768, 65'535, 65'537, 262'144, 262'145, 1 << 20, (4 << 20) + 1};
  constexpr unsigned kRounds = 6;
  constexpr unsigned kLanes = 2;
  const auto tag = [](unsigned lane) { return Tag{lane << 24 | 9}; };
  for (unsigned round = 0; round < kRounds; ++round) {
    struct Flight {
      std::vector<std::byte> buffer;
      unsigned seed;
      bool is_send;
      Request request;
    };
    std::vector<Flight> flights;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::size_t bytes = sizes[lane == 0 ? i : sizes.size() - 1 - i];  // the lanes' sizes differ
        const auto seed_of = [&](int sender) {
          return (static_cast<unsigned>(sender) * kRounds + round) * 64 + static_cast<unsigned>(i) * 2 + lane;
        };
        flights.push_back({made(bytes, seed_of(rank())), seed_of(rank()), true, {}});
        flights.push_back({std::vector<std::byte>(bytes), seed_of(previous()), false, {}});
        Flight& receive = flights[flights.size() - 1];
        Flight& send = flights[flights.size() - 2];
        const auto post_receive = [&] { receive.request = transport().receive(receive.buffer, previous(), tag(lane)); };
        if (round % 2 == 0) post_receive();  // else the message may come first
        send.request = transport().send(send.buffer, next(), tag(lane), Purpose::Gradients);
        if (round % 2 == 1) post_receive();
      }
    }
    for (std::size_t left = flights.size(); left > 0;) {
      for (Flight& flight : flights) {
        if (!flight.request.is_active() || !flight.request.is_done()) continue;
        if (!flight.is_send) {
          ASSERT_EQ(first_wrong(flight.buffer, flight.seed), flight.buffer.size()) << "is where the message is wrong";
        }
        std::ranges::fill(flight.buffer, kOverwritten);
        --left;
      }
    }
    for (const Flight& flight : flights) {
      EXPECT_EQ(std::ranges::count(flight.buffer, kOverwritten), std::ssize(flight.buffer)) << "written after it was done";
    }
  }
}

TEST_F(UcxTransport, RefusesMessagesOfAnotherSize) {
  for (const std::size_t sent : {std::size_t{100}, std::size_t{1 << 20}}) {
    for (const std::size_t expected : {sent - 1, sent + 1}) {
      const std::vector<std::byte> data(sent);
      std::vector<std::byte> into(expected);
      Request receive = transport().receive(into, previous(), Tag{1});
      Request send = transport().send(data, next(), Tag{1}, Purpose::Control);
      EXPECT_THAT([&] { transport().wait(receive); },
                  ThrowsMessage<InvalidArgument>(HasSubstr("receiving " + std::to_string(expected) + " bytes from rank " +
                                                           std::to_string(previous()) + ", but the message has ")));
      transport().wait(send);
    }
  }
}

TEST_F(UcxTransport, LeavesTheBufferOfAReceiveThatWasGivenUpAlone) {
  std::vector<std::byte> forgotten(64, kOverwritten);
  static_cast<void>(transport().receive(forgotten, previous(), Tag{3}));
  const std::vector<std::byte> mine(1);
  std::vector<std::byte> theirs(1), into(64);
  Request told = transport().receive(theirs, previous(), Tag{4});
  Request tell = transport().send(mine, next(), Tag{4}, Purpose::Control);
  transport().wait(told);
  transport().wait(tell);
  const auto data = made(64, 5);
  Request send = transport().send(data, next(), Tag{3}, Purpose::Control);
  Request receive = transport().receive(into, previous(), Tag{3});
  transport().wait(receive);
  transport().wait(send);
  EXPECT_EQ(into, data);
  EXPECT_EQ(std::ranges::count(forgotten, kOverwritten), std::ssize(forgotten));
}

TEST_F(UcxTransport, GivesUpASendThatNobodyTakes) {
  if (size() == 1) GTEST_SKIP() << "a rank's messages to itself have no peer that could be lost";
  const std::vector<std::byte> data(8 << 20);
  {
    const Request untaken = transport().send(data, next(), Tag{6}, Purpose::Control);
    ASSERT_TRUE(untaken.is_active());
  }
  EXPECT_THAT([&] { static_cast<void>(transport().send(data, next(), Tag{6}, Purpose::Control)); },
              ThrowsMessage<PeerLost>(HasSubstr("rank " + std::to_string(next()) + " on " + test::world().hosts().front() + " is lost")));
}

/// How many messages: more than the default in the slow run of this test.
int messages() {
  const char* const wanted = std::getenv("TWINAX_TEST_MESSAGES");
  return wanted == nullptr ? 8000 : std::atoi(wanted);
}

TEST_F(UcxTransport, LosesNoWakeUp) {
  throw_in_pairs(messages());
}

TEST_F(UcxTransport, LosesNoWakeUpWhileOthersCompute) {
  const std::jthread computing([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
    }
  });
  throw_in_pairs(messages() / 8);
}

TEST(Ucx, SaysItsVersion) {
  EXPECT_THAT(ucx_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
}

}  // namespace
}  // namespace twinax::net
