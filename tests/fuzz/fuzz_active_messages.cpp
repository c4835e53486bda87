#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "twinax/net/active_messages.hpp"

#include "fuzz/fuzz.hpp"
#include "net/active_header.hpp"
#include "support/fake_clock.hpp"
#include "support/scripted_transport.hpp"

namespace twinax::test {
namespace {

constexpr std::size_t kLargest = 300;
constexpr int kRanks = 3;

/// The input, read as a script.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool is_over() const { return left_ == 0; }
  unsigned byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::vector<std::byte> bytes(std::size_t n) {
    std::vector<std::byte> all(n);
    for (std::byte& b : all) b = static_cast<std::byte>(byte());
    return all;
  }
  /// Small numbers mostly, and the largest there are.
  std::uint64_t number() {
    const unsigned small = byte();
    if (small < 0xf0) return small;
    std::uint64_t large = 0;
    const auto raw = bytes(sizeof large);
    std::memcpy(&large, raw.data(), sizeof large);
    return large;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

std::vector<net::ActiveHandler> handlers() {
  return {
      {"echo", net::Purpose::Control,
       [](int, std::span<const std::byte> request, net::PayloadBuffer& reply) {
         expect(request.size() <= kLargest, "no request is over the limit");
         std::ranges::copy(request, reply.resize(request.size()).begin());
       }},
      {"fail", net::Purpose::Control, [](int, std::span<const std::byte>, net::PayloadBuffer&) { throw std::runtime_error("refused"); }}};
}

/// Rank 0 and two hostile peers.
class Victim {
 public:
  Victim() : messages_(transport_, context(), {.largest_payload = {kLargest}, .requests_in_flight = 2, .queue = 3}, handlers()) {}

  void act(Script& script) {
    const unsigned op = script.byte();
    const int peer = static_cast<int>(op / 8 % kRanks);
    switch (op % 8) {
      case 0:
        transport_.deliver(peer, tag(script), header(script));
        break;
      case 1:
        transport_.deliver(peer, tag(script), script.bytes(script.byte()));
        break;
      case 2:
        ask(peer, script);
        break;
      case 3:
        transport_.complete_sends(op / 8 % 2 == 0);
        break;
      case 4:
        if (!calls_.empty()) {
          net::Call call = std::move(calls_.front());
          calls_.erase(calls_.begin());
          expect(call.wait().size() <= kLargest, "no reply is over the limit");
        }
        break;
      case 5:
        if (op == 0xfd) messages_.close();
        break;
      default:
        messages_.progress();
    }
    expect(messages_.queued() <= 3, "the queue is bounded");
    expect(messages_.in_flight(peer) <= 2, "the requests in flight are bounded");
  }

  ~Victim() { expect(transport_.largest_receive() <= net::kLongestErrorText, "no buffer is made from a length that was not checked"); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

 private:
  net::WaitContext context() { return {.clock = &clock_, .ending = &ending_}; }
  static net::Tag tag(Script& script) { return net::active_tag(net::lanes::kActive, static_cast<net::ActiveStream>(script.byte() % 4)); }
  static std::vector<std::byte> header(Script& script) {
    net::ActiveHeader fields;
    fields.kind = static_cast<net::ActiveKind>(script.byte() % 6);
    fields.handler = static_cast<std::uint16_t>(script.byte() % 4);
    fields.id = script.number();
    fields.bytes = script.number();
    const net::ActiveWire wire = write_header(fields);
    return {wire.begin(), wire.end()};
  }
  void ask(int peer, Script& script) {
    if (messages_.in_flight(peer) >= 2) return;
    const std::size_t handler = script.byte() % 2;
    const std::size_t size = script.byte();
    const std::span<const std::byte> request = std::span(request_).first(size);
    const std::span<std::byte> reply = std::span(reply_).first(size);
    calls_.push_back(size % 2 == 0 ? messages_.request(peer, handler, request) : messages_.request(peer, handler, request, reply));
  }

  FakeClock clock_;
  std::atomic<std::uint32_t> ending_{1};  // waits for what never comes end at once
  ScriptedTransport transport_{0, kRanks};
  std::array<std::byte, 256> request_{}, reply_{};
  net::ActiveMessages messages_;
  std::vector<net::Call> calls_;
};

}  // namespace
}  // namespace twinax::test

/// Headers and payloads of peers that send what they like, between requests of this rank.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace twinax;
  test::Script script(data, size);
  (void)test::is_accepted([&] {
    test::Victim victim;
    while (!script.is_over()) victim.act(script);
    throw PeerLost("the script is over");  // what is not closed unwinds
  });
  return 0;
}
