#include "twinax/net/active_messages.hpp"

#include <algorithm>
#include <exception>
#include <limits>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/base/units_text.hpp"

#include "net/active_calls.hpp"
#include "net/active_service.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kPatience{0.5};  // with a call that is dropped in flight

void check(const ActiveOptions& options, std::size_t handlers) {
  if (options.lane > lanes::kLargest) throw InvalidArgument(fmt::format("lane {} of a tag is over {}", options.lane, lanes::kLargest));
  if (options.largest_payload.value < 0 || options.largest_payload.value > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidArgument(
        fmt::format("the largest payload of active messages must be from 0 to 2^31 - 1 bytes, not {}", options.largest_payload.value));
  }
  if (options.requests_in_flight < 1 || options.queue < 1) {
    throw InvalidArgument(fmt::format("active messages need at least 1 request in flight and a queue of 1, not {} and {}",
                                      options.requests_in_flight, options.queue));
  }
  if (handlers > std::numeric_limits<std::uint16_t>::max()) {
    throw InvalidArgument(fmt::format("{} handlers of active messages: at most 65535 can be named", handlers));
  }
}

}  // namespace

std::span<std::byte> PayloadBuffer::resize(std::size_t size) {
  if (size > largest_) throw InvalidArgument(fmt::format("a payload of {} bytes is over the largest, {} bytes", size, largest_));
  if (size > capacity_) {
    const std::size_t capacity = std::min(largest_, std::max(size, 2 * capacity_));
    memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity);
    capacity_ = capacity;
  }
  size_ = size;
  return {memory_.get(), size_};
}

struct ActiveState {
  ActiveState(Transport& on, const WaitContext& context, const ActiveOptions& limits, std::vector<ActiveHandler> table)
      : transport(on),
        waiter(context),
        options(limits),
        handlers(std::move(table)),
        calls(on, limits, handlers),
        service(on, limits, handlers) {}

  Transport& transport;
  Waiter waiter;
  ActiveOptions options;
  std::vector<ActiveHandler> handlers;
  OutgoingCalls calls;
  ActiveService service;
  std::exception_ptr failure;  // what broke the protocol: thrown from every call from then on
  bool is_closed = false;

  void check_usable(const char* doing) const {
    if (failure != nullptr) std::rethrow_exception(failure);
    if (service.is_serving()) throw InvalidArgument(fmt::format("{} inside a handler of active messages is not possible", doing));
  }

  bool step() {
    check_usable("waiting or making progress");
    try {
      transport.progress();
      const bool has_received = calls.step();
      return service.step() || has_received;
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
  }

  /// Serves until `is_done`, which only a step can change; sleeps while nothing moves.
  template <class IsDone>
  void wait_until(int peer, const IsDone& is_done) {
    check_usable("waiting");
    while (!is_done()) {
      for (Wait wait(waiter, peer); !step();) wait.rest();
    }
  }

  void drop(OutgoingCall& call) noexcept {
    if (!call.is_answered) settle(call);
    if (!call.is_answered) {
      calls.abandon(call);
      if (failure == nullptr) {
        failure = std::make_exception_ptr(
            ProtocolError(fmt::format("a request to rank {} (\"{}\") was given up in flight", call.to, handlers[call.handler].name)));
      }
    }
    calls.release(call);
  }

  /// Tries to get a call answered that nobody waits for any more.
  void settle(const OutgoingCall& call) noexcept {
    if (failure != nullptr || service.is_serving()) return;
    try {
      const Clock& clock = *waiter.context().clock;
      const Seconds until = clock.now() + kPatience;
      for (Wait wait(waiter, call.to); !call.is_answered && clock.now() < until;) {
        if (!step()) wait.rest_until(until);
      }
    } catch (const std::exception& error) {
      log_debug(fmt::format("giving up a request to rank {}: {}", call.to, error.what()));
    }
  }
};

Call::~Call() {
  if (call_ != nullptr) state_->drop(*call_);
}

int Call::peer() const {
  return call_ == nullptr ? -1 : call_->to;
}

bool Call::is_done() {
  if (call_ == nullptr || call_->is_answered) return true;
  state_->step();
  return call_->is_answered;
}

std::span<const std::byte> Call::wait() {
  if (call_ == nullptr) throw InvalidArgument("an inactive call has no reply");
  const OutgoingCall& call = *call_;
  if (!call.is_answered) {
    state_->wait_until(call.to, [&] { return call.is_answered; });
  }
  const std::string& handler = state_->handlers[call.handler].name;
  if (call.is_error) throw RemoteError(fmt::format("rank {} could not serve \"{}\": {}", call.to, handler, call.error));
  if (call.is_too_large()) {
    throw InvalidArgument(fmt::format("the reply of rank {} to \"{}\" has {} bytes, more than the {} given for it", call.to, handler,
                                      call.reply_bytes, call.given.size()));
  }
  return call.is_given ? call.given.first(call.reply_bytes) : call.own.bytes();
}

ActiveMessages::ActiveMessages(Transport& transport, const WaitContext& context, const ActiveOptions& options,
                               std::vector<ActiveHandler> handlers) {
  if (context.clock == nullptr) throw InvalidArgument("active messages need a clock");
  check(options, handlers.size());
  state_ = std::make_unique<ActiveState>(transport, context, options, std::move(handlers));
}

ActiveMessages::~ActiveMessages() {
  if (!state_->is_closed && state_->failure == nullptr && std::uncaught_exceptions() == 0) {
    log_error("active messages were not closed: their peers will wait for them");
  }
}

OutgoingCall& ActiveMessages::start(int to_rank, std::size_t handler, std::span<const std::byte> payload) {
  ActiveState& state = *state_;
  state.check_usable("a request");
  if (state.is_closed) throw InvalidArgument("a request after active messages were closed");
  if (to_rank < 0 || to_rank >= state.transport.size()) {
    throw InvalidArgument(fmt::format("a request to rank {}: there are ranks 0 to {}", to_rank, state.transport.size() - 1));
  }
  if (handler >= state.handlers.size()) {
    throw InvalidArgument(fmt::format("a request to handler {}: there are {}", handler, state.handlers.size()));
  }
  if (payload.size() > static_cast<std::uint64_t>(state.options.largest_payload.value)) {
    throw InvalidArgument(fmt::format("a request to \"{}\" of {} bytes: the largest payload is {} bytes", state.handlers[handler].name,
                                      payload.size(), state.options.largest_payload.value));
  }
  state.wait_until(to_rank, [&] { return !state.calls.is_full(to_rank); });
  try {
    return state.calls.start(to_rank, narrow<std::uint16_t>(handler), payload);
  } catch (...) {
    state.failure = std::current_exception();  // a header without its payload may be on its way
    throw;
  }
}

Call ActiveMessages::request(int to_rank, std::size_t handler, std::span<const std::byte> payload) {
  return Call(*state_, start(to_rank, handler, payload));
}

Call ActiveMessages::request(int to_rank, std::size_t handler, std::span<const std::byte> payload, std::span<std::byte> reply) {
  OutgoingCall& call = start(to_rank, handler, payload);
  OutgoingCalls::place_reply(call, reply);
  return Call(*state_, call);
}

bool ActiveMessages::progress() {
  return state_->step();
}

void ActiveMessages::close() {
  ActiveState& state = *state_;
  state.check_usable("closing");
  if (state.is_closed) return;
  for (int rank = 0; rank < state.transport.size(); ++rank) state.wait_until(rank, [&] { return state.calls.in_flight(rank) == 0; });
  state.calls.say_goodbye();
  state.wait_until(-1, [&] { return state.calls.is_closed() && state.service.is_closed(); });
  state.is_closed = true;
}

int ActiveMessages::in_flight(int rank) const {
  return state_->calls.in_flight(rank);
}

int ActiveMessages::queued() const {
  return state_->service.queued();
}

}  // namespace twinax::net
