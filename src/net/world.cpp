#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/error.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/lanes.hpp"
#include "twinax/net/transports.hpp"

namespace twinax::net {
namespace {

constexpr Tag kBarrier = lanes::tag(lanes::kBootstrap, 0);
constexpr Tag kLength = lanes::tag(lanes::kBootstrap, 1);
constexpr Tag kText = lanes::tag(lanes::kBootstrap, 2);
constexpr std::int64_t kLongestText = 1 << 20;
constexpr Seconds kShortestPause{20e-6};
constexpr Seconds kLongestPause{5e-3};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

/// No wait here is a hang: other ranks may be in the middle of a long run.
void World::sleep_until_done(Request& request) {
  Waiter waiter(wait_context());
  Wait wait(waiter, -1);
  Seconds pause = kShortestPause;
  while (!request.is_done()) {
    transport().progress();
    wait.sleep_until(clock().now() + pause);
    pause = std::min(pause * 1.5, kLongestPause);
  }
}

void World::sleep_barrier() {
  const int ranks = size();
  for (int distance = 1; distance < ranks; distance *= 2) {
    char mine = 0;
    char theirs = 0;
    Request receive = transport().receive(bytes_of(theirs), (rank() - distance + ranks) % ranks, kBarrier);
    Request send = transport().send(bytes_of(mine), (rank() + distance) % ranks, kBarrier, Purpose::Control);
    sleep_until_done(receive);
    sleep_until_done(send);
  }
}

std::optional<std::string> World::first_error(const std::optional<std::string>& mine) {
  constexpr std::int64_t kNone = -1;
  const auto send = [&](const std::optional<std::string>& text, int to) {
    std::int64_t length = text ? std::min(std::ssize(*text), kLongestText) : kNone;
    Request request = transport().send(bytes_of(length), to, kLength, Purpose::Control);
    sleep_until_done(request);
    if (!text) return;
    request = transport().send(std::as_bytes(std::span(*text).first(static_cast<std::size_t>(length))), to, kText, Purpose::Control);
    sleep_until_done(request);
  };
  const auto receive = [&](int from) -> std::optional<std::string> {
    std::int64_t length = kNone;
    Request request = transport().receive(bytes_of(length), from, kLength);
    sleep_until_done(request);
    if (length == kNone) return std::nullopt;
    if (length < 0 || length > kLongestText) {
      throw ProtocolError(
          fmt::format("rank {} announced an error's text of {} bytes: from 0 to {} are allowed", from, length, kLongestText));
    }
    std::string text(static_cast<std::size_t>(length), ' ');
    request = transport().receive(std::as_writable_bytes(std::span(text)), from, kText);
    sleep_until_done(request);
    return text;
  };
  // A binomial tree to rank 0 and back: a subtree holds consecutive ranks, so that the lowest rank's error wins at every node.
  std::optional<std::string> first = mine;
  int distance = 1;
  for (; distance < size() && rank() % (2 * distance) == 0; distance *= 2) {
    if (rank() + distance >= size()) continue;
    const std::optional<std::string> theirs = receive(rank() + distance);
    if (!first) first = theirs;
  }
  if (rank() != 0) {
    send(first, rank() - distance);
    first = receive(rank() - distance);
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (rank() + distance < size()) send(first, rank() + distance);
  }
  return first;
}

int run_world(const WorldOptions& options, const std::function<int(World&)>& body) {
  for (const TransportRow& row : kTransports) {
    if (row.name == options.transport) return row.run(options, body);
  }
  std::vector<std::string_view> names;
  for (const TransportRow& row : kTransports) names.push_back(row.name);
  throw InvalidArgument(fmt::format("there is no transport \"{}\"; there are: {}", options.transport, fmt::join(names, ", ")));
}

}  // namespace twinax::net
