#include "net/active_header.hpp"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr ActiveLimits kLimits{.largest_payload = 100, .handlers = 3};

ActiveWire with_byte(ActiveWire wire, std::size_t at, int value) {
  wire[at] = static_cast<std::byte>(value);
  return wire;
}

std::function<void()> reading_request(const ActiveWire& wire, std::uint64_t id) {
  return [=] { static_cast<void>(read_request_header(wire, 7, kLimits, id)); };
}

std::function<void()> reading_reply(const ActiveWire& wire, const Awaited& awaited) {
  return [=] { static_cast<void>(read_reply_header(wire, 7, kLimits, awaited)); };
}

auto refuses(const std::string& what) {
  return ThrowsMessage<ProtocolError>(AllOf(HasSubstr("active messages from rank 7: "), HasSubstr(what)));
}

TEST(ActiveHeader, ComesBackAsItWasWritten) {
  const ActiveHeader request{.kind = ActiveKind::Request, .handler = 2, .id = (1ULL << 40) + 3, .bytes = 100};
  EXPECT_EQ(read_request_header(write_header(request), 7, kLimits, request.id), request);
  const ActiveHeader goodbye{.kind = ActiveKind::Goodbye, .handler = 0, .id = 9, .bytes = 0};
  EXPECT_EQ(read_request_header(write_header(goodbye), 7, kLimits, 9), goodbye);
  EXPECT_EQ(read_reply_header(write_header(goodbye), 7, kLimits, {.is_any = false, .id = 9, .handler = 0, .said_goodbye = true}), goodbye);
  const Awaited awaited{.is_any = true, .id = 5, .handler = 1};
  const ActiveHeader reply{.kind = ActiveKind::Reply, .handler = 1, .id = 5, .bytes = 0};
  EXPECT_EQ(read_reply_header(write_header(reply), 7, kLimits, awaited), reply);
  // Errors may be longer than payloads.
  const ActiveHeader error{.kind = ActiveKind::Error, .handler = 1, .id = 5, .bytes = kLongestErrorText};
  EXPECT_EQ(read_reply_header(write_header(error), 7, kLimits, awaited), error);
}

TEST(ActiveHeader, RefusesWhatIsNoHeader) {
  const ActiveWire good = write_header({.kind = ActiveKind::Request, .handler = 0, .id = 0, .bytes = 1});
  EXPECT_NO_THROW(reading_request(good, 0)());
  EXPECT_THAT(reading_request(with_byte(good, 0, 0), 0), refuses("begins with"));
  EXPECT_THAT(reading_request(with_byte(good, 4, 2), 0), refuses("a header of version 2, this is version 1"));
  EXPECT_THAT(reading_request(with_byte(good, 5, 0), 0), refuses("unknown kind 0"));
  EXPECT_THAT(reading_request(with_byte(good, 5, 5), 0), refuses("unknown kind 5"));
}

TEST(ActiveHeader, RefusesRequestsThatCanNotBe) {
  const auto request = [](ActiveKind kind, std::uint16_t handler, std::uint64_t id, std::uint64_t bytes) {
    return reading_request(write_header({.kind = kind, .handler = handler, .id = id, .bytes = bytes}), 4);
  };
  EXPECT_THAT(request(ActiveKind::Reply, 0, 4, 0), refuses("kind 2 among its requests"));
  EXPECT_THAT(request(ActiveKind::Error, 0, 4, 0), refuses("kind 3 among its requests"));
  EXPECT_THAT(request(ActiveKind::Request, 3, 4, 0), refuses("request 4 names handler 3, there are 3"));
  EXPECT_THAT(request(ActiveKind::Request, 0, 6, 0), refuses("request 6 where 4 comes next"));
  EXPECT_THAT(request(ActiveKind::Request, 0, 3, 0), refuses("request 3 where 4 comes next"));
  EXPECT_THAT(request(ActiveKind::Request, 0, 4, 101), refuses("request 4 announces 101 bytes, at most 100 are allowed"));
  EXPECT_THAT(request(ActiveKind::Request, 0, 4, ~0ULL), refuses("announces 18446744073709551615 bytes"));
  EXPECT_THAT(request(ActiveKind::Goodbye, 0, 5, 0), refuses("request 5 where 4 comes next"));
  EXPECT_THAT(request(ActiveKind::Goodbye, 1, 4, 0), refuses("a goodbye with handler 1 and 0 bytes"));
}

TEST(ActiveHeader, RefusesRepliesToWhatWasNotAsked) {
  const auto reply = [](ActiveKind kind, std::uint16_t handler, std::uint64_t id, std::uint64_t bytes, const Awaited& awaited) {
    return reading_reply(write_header({.kind = kind, .handler = handler, .id = id, .bytes = bytes}), awaited);
  };
  const Awaited one{.is_any = true, .id = 4, .handler = 2};
  const Awaited none{.is_any = false, .id = 4};
  EXPECT_THAT(reply(ActiveKind::Request, 2, 4, 0, one), refuses("a request among its replies"));
  EXPECT_THAT(reply(ActiveKind::Reply, 2, 4, 0, none), refuses("request 4, which is unknown: none waits"));
  EXPECT_THAT(reply(ActiveKind::Reply, 2, 5, 0, one), refuses("request 5, which is unknown: the next is to 4"));
  EXPECT_THAT(reply(ActiveKind::Reply, 1, 4, 0, one), refuses("a reply of handler 1 to request 4 of handler 2"));
  EXPECT_THAT(reply(ActiveKind::Reply, 2, 4, 101, one), refuses("the reply to request 4 announces 101 bytes"));
  EXPECT_THAT(reply(ActiveKind::Error, 2, 4, 513, one), refuses("the error of request 4 announces 513 bytes, at most 512"));
  EXPECT_THAT(reply(ActiveKind::Goodbye, 0, 4, 0, none), refuses("an end of replies"));
  EXPECT_THAT(reply(ActiveKind::Goodbye, 0, 4, 0, one), refuses("an end of replies"));
}

}  // namespace
}  // namespace twinax::net
