#include "app/bench_exchange.hpp"

#include <algorithm>
#include <utility>

namespace twinax::app {
namespace {

constexpr net::Tag kData{7U << 14};
constexpr net::Tag kAck{(7U << 14) + 1};
constexpr net::Tag kGo{(7U << 14) + 2};
constexpr net::Tag kPlan{(7U << 14) + 3};
constexpr net::Tag kWrong{(7U << 14) + 4};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

Exchange::Exchange(net::Transport& data, net::Transport& control, Clock& clock, bool is_first, std::vector<int> peers)
    : data_(data), control_(control), clock_(clock), is_first_(is_first), peers_(std::move(peers)) {}

void Exchange::wait(std::vector<net::Request>& requests) {
  net::wait_all(data_, requests);
  requests.clear();
}

void Exchange::receive_all(const ExchangeOptions& options, std::size_t peer) {
  const auto size = static_cast<std::size_t>(options.size.value);
  const auto count = static_cast<std::size_t>(options.in_flight);
  for (std::size_t k = 0; k < count; ++k) {
    receives_.push_back(data_.receive(std::span(in_).subspan((peer * count + k) * size, size), peers_[peer], kData));
  }
}

void Exchange::send_all(const ExchangeOptions& options, int to) {
  for (std::int64_t k = 0; k < options.in_flight; ++k) {
    sends_.push_back(data_.send(std::span(out_).first(static_cast<std::size_t>(options.size.value)), to, kData, net::Purpose::Parameters));
  }
}

/// The first rank lets the others begin; not over the network that is measured.
void Exchange::go(bool is_sent) {
  for (const int peer : peers_) {
    net::Request request = is_sent ? control_.send({}, peer, kGo, net::Purpose::Control) : control_.receive({}, peer, kGo);
    control_.wait(request);
  }
}

void Exchange::once_as_first(const ExchangeOptions& options) {
  const int peer = peers_.front();
  switch (options.pattern) {
    case Pattern::Latency:
      send_all(options, peer);
      wait(sends_);
      receive_all(options, 0);
      wait(receives_);
      break;
    case Pattern::Bandwidth: {
      send_all(options, peer);
      wait(sends_);
      net::Request ack = data_.receive({}, peer, kAck);
      data_.wait(ack);
      break;
    }
    case Pattern::Bidirectional: {
      receive_all(options, 0);
      send_all(options, peer);
      wait(receives_);
      wait(sends_);
      net::Request ack = data_.receive({}, peer, kAck);
      data_.wait(ack);
      break;
    }
    case Pattern::Incast:
      for (std::size_t i = 0; i < peers_.size(); ++i) receive_all(options, i);
      go(true);
      wait(receives_);
      break;
  }
}

void Exchange::once_as_other(const ExchangeOptions& options) {
  const int peer = peers_.front();
  switch (options.pattern) {
    case Pattern::Latency:
      receive_all(options, 0);
      wait(receives_);
      send_all(options, peer);
      wait(sends_);
      break;
    case Pattern::Bandwidth:
    case Pattern::Bidirectional: {
      receive_all(options, 0);
      if (options.pattern == Pattern::Bidirectional) send_all(options, peer);
      wait(receives_);
      wait(sends_);
      net::Request ack = data_.send({}, peer, kAck, net::Purpose::Control);
      data_.wait(ack);
      break;
    }
    case Pattern::Incast:
      go(false);
      send_all(options, peer);
      wait(sends_);
      break;
  }
}

void Exchange::once(const ExchangeOptions& options) {
  if (is_first_) {
    once_as_first(options);
  } else {
    once_as_other(options);
  }
}

/// The first rank's plan becomes the others'.
void Exchange::order(BenchPlan& plan) {
  for (const int peer : peers_) {
    net::Request request =
        is_first_ ? control_.send(bytes_of(plan), peer, kPlan, net::Purpose::Control) : control_.receive(bytes_of(plan), peer, kPlan);
    control_.wait(request);
  }
}

std::int64_t Exchange::summed(std::int64_t mine) {
  std::int64_t sum = mine;
  for (const int peer : peers_) {
    std::int64_t theirs = mine;
    net::Request request =
        is_first_ ? control_.receive(bytes_of(theirs), peer, kWrong) : control_.send(bytes_of(theirs), peer, kWrong, net::Purpose::Control);
    control_.wait(request);
    if (is_first_) sum += theirs;
  }
  return sum;
}

/// Once more, into memory that holds none of it. Returns how many bytes have arrived wrong on all ranks, on the first.
std::int64_t Exchange::check(const ExchangeOptions& options) {
  const bool receives = is_first_ ? options.pattern != Pattern::Bandwidth : options.pattern != Pattern::Incast;
  const auto size = static_cast<std::size_t>(options.size.value);
  for (std::size_t i = 0; i < in_.size(); ++i)
    in_[i] = ~given_byte(peers_[i / (size * static_cast<std::size_t>(options.in_flight))], i % size);
  once(options);
  std::int64_t wrong = 0;
  if (receives) {
    for (std::size_t at = 0; at < in_.size(); at += size) {
      const int from = peers_[at / (size * static_cast<std::size_t>(options.in_flight))];
      wrong += count_wrong(std::span<const std::byte>(in_).subspan(at, size), from, 0);
    }
  }
  return summed(wrong);
}

ExchangeResult Exchange::run(const ExchangeOptions& options) {
  const auto size = static_cast<std::size_t>(options.size.value);
  out_.resize(size);
  for (std::size_t i = 0; i < size; ++i) out_[i] = given_byte(data_.rank(), i);
  in_.assign(size * static_cast<std::size_t>(options.in_flight) * peers_.size(), std::byte{0});
  const auto timed = [&](std::int64_t repeats) {
    const Seconds begin = clock_.now();
    for (std::int64_t i = 0; i < repeats; ++i) once(options);
    return (clock_.now() - begin) / static_cast<double>(repeats);
  };
  Seconds fastest = timed(1);
  BenchPlan warmup{.iterations = warmup_of(fastest, options.warmup)};
  order(warmup);
  for (std::int64_t i = 1; i < warmup.iterations; ++i) fastest = std::min(fastest, timed(1));
  BenchPlan plan = plan_of(fastest, options.iterations);
  order(plan);
  if (plan.repeats > 1) {  // a short one takes less when it isn't alone
    plan = plan_of(timed(plan.repeats), options.iterations);
    order(plan);
  }
  // Messages of one exchange: there and back, both ways, from all.
  double messages = static_cast<double>(options.in_flight);
  if (options.pattern == Pattern::Latency || options.pattern == Pattern::Bidirectional) messages *= 2;
  if (options.pattern == Pattern::Incast) messages *= static_cast<double>(peers_.size());
  ExchangeResult result;
  for (std::int64_t i = 0; i < plan.iterations; ++i) result.seconds_each.push_back(timed(plan.repeats).value / messages);
  if (options.check) result.wrong = check(options);
  return result;
}

}  // namespace twinax::app
