#include "twinax/net/shaped.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/base/units_text.hpp"

#include "net/shaped_messages.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kBookedAhead{10e-3};
constexpr Seconds kProgressPause{1e-3};
constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
constexpr std::uint32_t kStampBit = 1U << 22;

class ShapedTransport final : public Transport {
 public:
  ShapedTransport(Transport& inner, const WaitContext& context, const ShapeOptions& options, const NicBoard& board)
      : inner_(inner),
        waiter_(context),
        clock_(*context.clock),
        profile_(options.profile),
        chunk_(narrow<std::size_t>(std::max<std::int64_t>(options.chunk.value, 1))),
        seed_(options.seed),
        board_(board),
        flows_(static_cast<std::size_t>(inner.size())) {
    ahead_ = std::max(kBookedAhead, options.chunk / profile_.usable_rate() * 2);
  }

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose purpose) override;
  Request receive(std::span<std::byte> into, int from_rank, Tag tag) override;
  void progress() override {
    inner_.progress();
    pump();
  }
  void wait(Request& request) override;

  /// Posts what may be posted, takes in stamps, books what arrives.
  void pump();
  [[nodiscard]] bool is_left(OutMessage& message);
  [[nodiscard]] bool is_here(InMessage& message);
  void forget(OutMessage& message);
  void forget(InMessage& message);

 private:
  [[nodiscard]] std::size_t chunks_of(std::size_t bytes) const { return std::max<std::size_t>((bytes + chunk_ - 1) / chunk_, 1); }
  template <class Span>
  [[nodiscard]] Span piece(Span whole, std::size_t k) const {
    return whole.subspan(k * chunk_, std::min(chunk_, whole.size() - k * chunk_));
  }
  [[nodiscard]] bool is_in_node(int peer) const { return board_.node_of(peer) == board_.node_of(rank()); }
  [[nodiscard]] Nic& nic_to(int peer) const { return is_in_node(peer) ? board_.in_node_link(rank()) : board_.node_nic(rank()); }
  [[nodiscard]] Seconds time_of(std::size_t bytes, int peer) const {
    return Bytes{narrow<std::int64_t>(bytes)} / (is_in_node(peer) ? profile_.in_node_rate : profile_.usable_rate());
  }
  [[nodiscard]] Seconds jitter_of(int to, std::uint64_t message) const;
  bool post_next(Flow& flow, Seconds now);
  void take_stamps(InMessage& message);
  void book_arrivals(Seconds now);
  [[nodiscard]] Seconds next_event() const;

  Transport& inner_;
  Waiter waiter_;
  Clock& clock_;
  Profile profile_;
  std::size_t chunk_;
  std::uint64_t seed_;
  NicBoard board_;
  Seconds ahead_{0};
  std::vector<Flow> flows_;           // by receiving rank
  std::vector<InMessage*> incoming_;  // with stamps to come
  std::vector<Arrival> arrivals_;     // few: those of the messages being received
  Seconds known_{kNever};             // when the message tested last is complete; kNever while it depends on a peer
};

class OutPending final : public Pending {
 public:
  OutPending(ShapedTransport& transport, int to) : Pending(to), transport_(transport) {}
  ~OutPending() override { transport_.forget(message); }
  bool test() override {
    transport_.pump();
    return transport_.is_left(message);
  }
  OutMessage message;

 private:
  ShapedTransport& transport_;
};

class InPending final : public Pending {
 public:
  InPending(ShapedTransport& transport, int from) : Pending(from), transport_(transport) {}
  ~InPending() override { transport_.forget(message); }
  bool test() override {
    transport_.pump();
    return transport_.is_here(message);
  }
  InMessage message;

 private:
  ShapedTransport& transport_;
};

Request ShapedTransport::send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose purpose) {
  if (to_rank == rank() || to_rank < 0 || to_rank >= size()) return inner_.send(data, to_rank, tag, purpose);
  auto pending = std::make_unique<OutPending>(*this, to_rank);
  OutMessage& message = pending->message;
  Flow& flow = flows_[static_cast<std::size_t>(to_rank)];
  message.data = data;
  message.to = to_rank;
  message.tag = tag;
  message.purpose = purpose;
  message.extra_latency = is_in_node(to_rank) ? Seconds{0} : jitter_of(to_rank, flow.messages++);
  message.chunks = chunks_of(data.size());
  message.stamps.resize(message.chunks);
  flow.queue.push_back(&message);
  pump();
  return Request(std::move(pending));
}

Request ShapedTransport::receive(std::span<std::byte> into, int from_rank, Tag tag) {
  if (from_rank == rank() || from_rank < 0 || from_rank >= size()) return inner_.receive(into, from_rank, tag);
  auto pending = std::make_unique<InPending>(*this, from_rank);
  InMessage& message = pending->message;
  message.into = into;
  message.from = from_rank;
  message.chunks = chunks_of(into.size());
  message.stamps.resize(message.chunks);
  for (std::size_t k = 0; k < message.chunks; ++k) {
    message.headers.push_back(
        inner_.receive(std::as_writable_bytes(std::span(&message.stamps[k], 1)), from_rank, Tag{tag.value | kStampBit}));
    if (!into.empty()) message.flights.push_back(inner_.receive(piece(into, k), from_rank, tag));
  }
  incoming_.push_back(&message);
  return Request(std::move(pending));
}

/// Exponential, with a tail; the same for every run of one seed.
Seconds ShapedTransport::jitter_of(int to, std::uint64_t message) const {
  if (profile_.jitter.value <= 0 && profile_.tail_probability <= 0) return {0};
  const Philox random(seed_, Draw::Jitter, narrow<std::uint32_t>(rank() * size() + to));
  const double u = random.uniform(2 * message);
  Seconds jitter = profile_.jitter * -std::log1p(-u);
  if (random.uniform(2 * message + 1) < profile_.tail_probability) jitter += profile_.tail;
  return jitter;
}

/// Books the next chunk of a flow and hands it on; false if there is none, or enough is booked ahead.
bool ShapedTransport::post_next(Flow& flow, Seconds now) {
  if (flow.queue.empty() || flow.last_leaves > now + ahead_) return false;
  OutMessage& message = *flow.queue.front();
  const std::size_t k = message.posted;
  const auto bytes = message.data.empty() ? message.data : piece(message.data, k);
  const bool is_near = is_in_node(message.to);
  const Seconds takes = time_of(bytes.size(), message.to) + (is_near ? Seconds{0} : profile_.message_overhead);
  const Seconds pause = is_near ? Seconds{0} : std::max(profile_.message_gap - takes, Seconds{0});  // before the next message may follow
  Seconds leaves = nic_to(message.to).out.book(now, takes + pause) - pause;
  if (!is_near && profile_.stream_rate.value > 0) {
    leaves = std::max(leaves, flow.stream.book(now, Bytes{narrow<std::int64_t>(bytes.size())} / profile_.stream_rate));
  }
  message.leaves = leaves;
  flow.last_leaves = leaves + pause;
  const Seconds latency = is_near ? profile_.in_node_latency : profile_.latency + message.extra_latency;
  message.stamps[k].arrival_s = (leaves + latency).value;
  message.flights.push_back(
      inner_.send(std::as_bytes(std::span(&message.stamps[k], 1)), message.to, Tag{message.tag.value | kStampBit}, Purpose::Control));
  if (!bytes.empty()) message.flights.push_back(inner_.send(bytes, message.to, message.tag, message.purpose));
  if (++message.posted == message.chunks) flow.queue.pop_front();
  return true;
}

void ShapedTransport::take_stamps(InMessage& message) {
  while (!message.headers.empty() && message.headers.front().is_done()) {
    message.headers.pop_front();
    const std::size_t k = message.stamped++;
    const std::size_t bytes = message.into.empty() ? 0 : piece(message.into, k).size();
    const Seconds duration = time_of(bytes, message.from);
    const Seconds arrival{message.stamps[k].arrival_s};
    if (!std::isfinite(arrival.value)) {
      throw ProtocolError(fmt::format("rank {} stamped a chunk's arrival as {}: a time was expected", message.from, arrival.value));
    }
    arrivals_.push_back(
        {.first_byte = arrival - duration, .last_byte = arrival, .duration = duration, .nic = &nic_to(message.from), .message = &message});
  }
}

/// In the order of their arrival, so that a late look at them changes nothing.
void ShapedTransport::book_arrivals(Seconds now) {
  std::ranges::sort(arrivals_, {}, &Arrival::first_byte);
  std::size_t booked = 0;
  for (; booked < arrivals_.size() && arrivals_[booked].first_byte <= now; ++booked) {
    const Arrival& arrival = arrivals_[booked];
    InMessage& message = *arrival.message;
    // The end is never before the last byte arrives, whatever rounding first_byte + duration makes of it.
    message.arrives = std::max({message.arrives, arrival.last_byte, arrival.nic->in.book(arrival.first_byte, arrival.duration)});
    ++message.booked;
  }
  arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(booked));
}

void ShapedTransport::pump() {
  const Seconds now = clock_.now();
  for (bool posted = true; posted;) {  // flows take turns chunk by chunk
    posted = false;
    for (Flow& flow : flows_) posted = post_next(flow, now) || posted;
  }
  for (InMessage* message : incoming_) take_stamps(*message);
  std::erase_if(incoming_, [](const InMessage* message) { return message->headers.empty(); });
  if (!arrivals_.empty()) book_arrivals(now);
}

bool ShapedTransport::is_left(OutMessage& message) {
  while (!message.flights.empty() && message.flights.front().is_done()) message.flights.pop_front();
  known_ = message.posted == message.chunks && message.flights.empty() ? message.leaves : kNever;
  return known_ <= clock_.now();
}

bool ShapedTransport::is_here(InMessage& message) {
  while (!message.flights.empty() && message.flights.front().is_done()) message.flights.pop_front();
  known_ = message.booked == message.chunks && message.flights.empty() ? message.arrives : kNever;
  return known_ <= clock_.now();
}

void ShapedTransport::forget(OutMessage& message) {
  if (message.posted < message.chunks) std::erase(flows_[static_cast<std::size_t>(message.to)].queue, &message);
}

void ShapedTransport::forget(InMessage& message) {
  std::erase(incoming_, &message);
  std::erase_if(arrivals_, [&](const Arrival& arrival) { return arrival.message == &message; });
}

/// When the next chunk can be posted or booked.
Seconds ShapedTransport::next_event() const {
  Seconds next = kNever;
  for (const Flow& flow : flows_) {
    if (!flow.queue.empty()) next = std::min(next, flow.last_leaves - ahead_);
  }
  for (const Arrival& arrival : arrivals_) next = std::min(next, arrival.first_byte);
  return next;
}

void ShapedTransport::wait(Request& request) {
  known_ = kNever;
  if (request.is_done()) return;
  for (Wait wait(waiter_, request.peer()); !request.is_done();) {
    const Seconds now = clock_.now();
    const Seconds next = std::min(known_, next_event());
    if (known_ == kNever) {
      wait.rest_until(next);
    } else if (next > now) {
      wait.sleep_until(std::min(next, now + kProgressPause));
    }
  }
}

}  // namespace

std::unique_ptr<Transport> make_shaped(Transport& inner, const WaitContext& context, const ShapeOptions& options, const NicBoard& board) {
  if (context.clock == nullptr) throw InvalidArgument("shaping a transport needs a clock");
  return std::make_unique<ShapedTransport>(inner, context, options, board);
}

void check_carried(const Profile& applied, double dilation, bool uses_in_node) {
  constexpr BytesPerSecond kCarried = gbit_per_s(10);  // what two processes that also compute were seen to carry within 6%
  BytesPerSecond pair = applied.usable_rate();
  if (applied.stream_rate.value > 0) pair = std::min(pair, applied.stream_rate);
  const bool in_node_is_faster = uses_in_node && applied.in_node_rate > pair;
  if (in_node_is_faster) pair = applied.in_node_rate;
  if (pair <= kCarried) return;
  throw InvalidArgument(fmt::format(
      "net.profile = \"{}\": {}{} between two ranks is more than this machine can carry beside computing ({}); emulate an accelerator "
      "(--emulate NAME), or set net.dilation to {:.3g} or more",
      applied.name, for_people(pair), in_node_is_faster ? " inside a node" : "", for_people(kCarried), dilation * (pair / kCarried)));
}

}  // namespace twinax::net
