#include "twinax/net/loopback.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "twinax/base/error.hpp"
#include "twinax/base/narrow.hpp"

#include "fmt/format.h"

namespace twinax::net {
namespace {

constexpr std::chrono::milliseconds kLongestSleep{50};

enum class Stage : std::uint8_t { Queued, Copying, Done };

/// One side of a message. All members but the bytes themselves are protected by the fabric's mutex; `stage` may be read without it.
struct Post {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  std::size_t bytes = 0;
  int from = 0;
  int to = 0;
  Tag tag;
  bool has_other_size = false;
  std::size_t other_bytes = 0;
  std::atomic<Stage> stage{Stage::Queued};

  [[nodiscard]] bool matches(const Post& other) const { return from == other.from && tag == other.tag; }
};

struct Inbox {
  std::condition_variable changed;  // of the rank that owns this inbox: one of its posts is done, or the job is ending
  std::vector<Post*> sends;         // to this rank, without a receive so far
  std::vector<Post*> receives;      // by this rank, without a send so far
};

Post* take_match(std::vector<Post*>& posts, const Post& mine) {
  const auto found = std::find_if(posts.begin(), posts.end(), [&](const Post* post) { return post->matches(mine); });
  if (found == posts.end()) return nullptr;
  Post* const post = *found;
  posts.erase(found);
  return post;
}

/// Zeroed pages, of which those that nobody touches take no memory.
std::shared_ptr<std::byte[]> zeroed_pages(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw SystemError(errno, fmt::format("mapping {} bytes that ranks share: {}", bytes, std::strerror(errno)));
  return {static_cast<std::byte*>(memory), [mapped](std::byte* begin) { munmap(begin, mapped); }};
}

struct Segment {
  std::shared_ptr<std::byte[]> memory;  // shared: it lives as long as the last rank (thread) that holds it
  std::size_t bytes = 0;
  int taken = 0;
};

}  // namespace

struct LoopbackFabric::State {
  explicit State(int ranks) : inboxes(static_cast<std::size_t>(ranks)), shares(static_cast<std::size_t>(ranks)) {}

  std::mutex mutex;  // protects inboxes, posts, shares and segments; a rank's ActivitySlot may be taken after it
  std::vector<Inbox> inboxes;
  std::vector<std::size_t> shares;  // how often each rank has called share()
  std::map<std::size_t, Segment> segments;
  std::atomic<std::uint32_t> ending{0};

  Inbox& inbox(int rank) { return inboxes[static_cast<std::size_t>(rank)]; }

  void post_send(Post& send) {
    std::unique_lock lock(mutex);
    if (Post* const receive = take_match(inbox(send.to).receives, send)) {
      copy(lock, send, *receive);
    } else {
      inbox(send.to).sends.push_back(&send);
    }
  }

  void post_receive(Post& receive) {
    std::unique_lock lock(mutex);
    if (Post* const send = take_match(inbox(receive.to).sends, receive)) {
      copy(lock, *send, receive);
    } else {
      inbox(receive.to).receives.push_back(&receive);
    }
  }

  void copy(std::unique_lock<std::mutex>& lock, Post& send, Post& receive) {
    if (send.bytes == receive.bytes) {
      send.stage = receive.stage = Stage::Copying;  // neither may go away until it is Done
      lock.unlock();
      if (send.bytes != 0) std::memcpy(receive.destination, send.source, send.bytes);
      lock.lock();
    } else {
      receive.has_other_size = true;
      receive.other_bytes = send.bytes;
    }
    const int from = send.from;
    const int to = receive.to;
    send.stage = receive.stage = Stage::Done;
    inbox(from).changed.notify_all();
    inbox(to).changed.notify_all();
  }

  /// Takes a post out of the fabric; waits for a copy in progress.
  void withdraw(Post& post, bool is_send) {
    std::unique_lock lock(mutex);
    auto& posts = is_send ? inbox(post.to).sends : inbox(post.to).receives;
    std::erase(posts, &post);
    inbox(is_send ? post.from : post.to).changed.wait(lock, [&] { return post.stage != Stage::Copying; });
  }
};

namespace {

template <class State>
class LoopbackPending final : public Pending {
 public:
  LoopbackPending(State& fabric, bool is_send, int peer) : Pending(peer), fabric_(fabric), is_send_(is_send) {}
  ~LoopbackPending() override {
    if (post.stage.load(std::memory_order_acquire) != Stage::Done) fabric_.withdraw(post, is_send_);
  }
  bool test() override {
    if (post.stage.load(std::memory_order_acquire) != Stage::Done) return false;
    if (post.has_other_size) {
      throw InvalidArgument(fmt::format("rank {} receives {} bytes from rank {} with tag {:#x}, but the message has {} bytes", post.to,
                                        post.bytes, post.from, post.tag.value, post.other_bytes));
    }
    return true;
  }
  Post post;

 private:
  State& fabric_;
  bool is_send_;
};

template <class State>
class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(State& fabric, int rank, const WaitContext& context) : fabric_(fabric), rank_(rank), waiter_(context) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return narrow<int>(fabric_.inboxes.size()); }

  Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose /*purpose*/) override {
    auto pending = make(true, to_rank, tag, data.size());
    pending->post.from = rank_;
    pending->post.to = to_rank;
    pending->post.source = data.data();
    fabric_.post_send(pending->post);
    return Request(std::move(pending));
  }

  Request receive(std::span<std::byte> into, int from_rank, Tag tag) override {
    auto pending = make(false, from_rank, tag, into.size());
    pending->post.from = from_rank;
    pending->post.to = rank_;
    pending->post.destination = into.data();
    fabric_.post_receive(pending->post);
    return Request(std::move(pending));
  }

  void progress() override {}  // whoever comes second moves the message

  void wait(Request& request) override {
    if (request.is_done()) return;
    Wait wait(waiter_, request.peer());
    std::unique_lock lock(fabric_.mutex);
    while (!request.is_done()) {  // a request that is done takes no lock when it goes
      wait.before_sleep();
      fabric_.inbox(rank_).changed.wait_for(lock, kLongestSleep);
    }
  }

 private:
  std::unique_ptr<LoopbackPending<State>> make(bool is_send, int peer, Tag tag, std::size_t bytes) {
    if (peer < 0 || peer >= size()) {
      throw InvalidArgument(
          fmt::format("rank {} can't {} rank {}: there are ranks 0 to {}", rank_, is_send ? "send to" : "receive from", peer, size() - 1));
    }
    auto pending = std::make_unique<LoopbackPending<State>>(fabric_, is_send, peer);
    pending->post.tag = tag;
    pending->post.bytes = bytes;
    return pending;
  }

  State& fabric_;
  int rank_;
  Waiter waiter_;
};

}  // namespace

LoopbackFabric::LoopbackFabric(int ranks) {
  if (ranks < 1) throw InvalidArgument(fmt::format("a loopback fabric needs at least 1 rank, not {}", ranks));
  state_ = std::make_unique<State>(ranks);
}

LoopbackFabric::~LoopbackFabric() = default;

int LoopbackFabric::size() const {
  return narrow<int>(state_->inboxes.size());
}

std::unique_ptr<Transport> LoopbackFabric::attach(int rank, WaitContext context) {
  if (rank < 0 || rank >= size()) throw InvalidArgument(fmt::format("there is no rank {} in a loopback fabric of {}", rank, size()));
  context.ending = &state_->ending;
  return std::make_unique<LoopbackTransport<State>>(*state_, rank, context);
}

void LoopbackFabric::end() {
  const std::scoped_lock lock(state_->mutex);
  state_->ending = 1;
  for (Inbox& inbox : state_->inboxes) inbox.changed.notify_all();
}

std::atomic<std::uint32_t>& LoopbackFabric::ending() {
  return state_->ending;
}

std::shared_ptr<std::byte[]> LoopbackFabric::share(int rank, Bytes size) {
  const std::scoped_lock lock(state_->mutex);
  const std::size_t call = state_->shares[static_cast<std::size_t>(rank)]++;
  Segment& segment = state_->segments[call];
  const auto bytes = narrow<std::size_t>(size.value);
  if (segment.taken == 0) {
    segment.memory = zeroed_pages(bytes);
    segment.bytes = bytes;
  } else if (segment.bytes != bytes) {
    throw InvalidArgument(fmt::format("rank {} shares a segment of {} bytes, another rank one of {} bytes", rank, bytes, segment.bytes));
  }
  auto memory = segment.memory;
  if (++segment.taken == narrow<int>(state_->inboxes.size())) state_->segments.erase(call);
  return memory;
}

}  // namespace twinax::net
