#include "twinax/net/loopback.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

#include "support/run_loopback.hpp"

namespace twinax::net {
namespace {

using test::run_loopback;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::vector<int>& values) {
  return std::as_bytes(std::span(values));
}
std::span<std::byte> bytes_of(std::vector<int>& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST(Loopback, PassesAMessageRoundARing) {
  run_loopback(4, [](Transport& transport) {
    const int next = (transport.rank() + 1) % transport.size();
    const int previous = (transport.rank() + transport.size() - 1) % transport.size();
    const std::vector<int> mine(1000, transport.rank());
    std::vector<int> got(1000, -1);
    for (int lap = 0; lap < 50; ++lap) {
      std::array requests{transport.receive(bytes_of(got), previous, Tag{7}),
                          transport.send(bytes_of(mine), next, Tag{7}, Purpose::Control)};
      wait_all(transport, requests);
      ASSERT_EQ(got, std::vector<int>(1000, previous));
    }
  });
}

TEST(Loopback, CompletesASendOnlyWhenItsReceiveIsThere) {
  LoopbackFabric fabric(1);
  SystemClock clock;
  const auto transport = fabric.attach(0, {.clock = &clock});
  const std::vector<int> mine{1, 2, 3};
  std::vector<int> got(3);
  Request send = transport->send(bytes_of(mine), 0, Tag{1}, Purpose::Control);
  EXPECT_FALSE(send.is_done());
  Request receive = transport->receive(bytes_of(got), 0, Tag{1});
  EXPECT_TRUE(send.is_done());
  EXPECT_TRUE(receive.is_done());
  EXPECT_EQ(got, mine);
}

TEST(Loopback, RethrowsTheFirstErrorAndEndsTheOtherRanksWaits) {
  EXPECT_THAT(
      [] {
        run_loopback(3, [](Transport& transport) {
          if (transport.rank() == 1) throw InvalidArgument("rank 1 failed");
          std::vector<int> got(1);
          Request never = transport.receive(bytes_of(got), 1, Tag{1});
          transport.wait(never);
        });
      },
      ::testing::ThrowsMessage<InvalidArgument>("rank 1 failed"));
}

TEST(Loopback, WithdrawsARequestThatIsDroppedInFlight) {
  LoopbackFabric fabric(1);
  SystemClock clock;
  const auto transport = fabric.attach(0, {.clock = &clock});
  std::vector<int> dropped(1, 5);
  { const Request receive = transport->receive(bytes_of(dropped), 0, Tag{1}); }
  const std::vector<int> mine{9};
  { const Request send = transport->send(bytes_of(mine), 0, Tag{1}, Purpose::Control); }
  std::vector<int> got(1, 7);
  Request receive = transport->receive(bytes_of(got), 0, Tag{1});
  EXPECT_FALSE(receive.is_done());
  EXPECT_EQ(dropped[0], 5);
}

TEST(Loopback, NamesRanksThatDoNotExist) {
  LoopbackFabric fabric(2);
  SystemClock clock;
  const auto transport = fabric.attach(1, {.clock = &clock});
  EXPECT_THAT([&] { static_cast<void>(transport->send({}, 2, Tag{0}, Purpose::Control)); },
              ::testing::ThrowsMessage<InvalidArgument>(HasSubstr("rank 1 can't send to rank 2: there are ranks 0 to 1")));
}

TEST(Loopback, SharesZeroedMemoryAmongRanks) {
  LoopbackFabric fabric(2);
  const auto a = fabric.share(0, Bytes{64});
  const auto other = fabric.share(0, Bytes{32});
  const auto b = fabric.share(1, Bytes{64});
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  EXPECT_EQ(a[63], std::byte{0});
  EXPECT_THROW(static_cast<void>(fabric.share(1, Bytes{16})), InvalidArgument);
}

}  // namespace
}  // namespace twinax::net
