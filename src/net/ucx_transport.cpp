#include "twinax/net/ucx_transport.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"

#include "net/mpi_exchange.hpp"
#include "net/ucx_peers.hpp"
#include "net/ucx_worker.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kPatience{0.2};       // with a message that nobody waits for any more
constexpr Seconds kLongestFarewell{5};  // with ranks that don't come to the common end
constexpr ucp_tag_t kWholeTag = ~ucp_tag_t{0};

/// Receives match the sender's rank and the tag.
ucp_tag_t pack(int from_rank, Tag tag) {
  return static_cast<ucp_tag_t>(from_rank) << 32 | tag.value;
}

/// What the operations of a transport share; it outlives them.
struct Wires {
  Wires(const MpiComm& comm, const WaitContext& wait_context, const std::vector<std::string>& hosts, UcxSleeps* sleeps)
      : context(wait_context),
        worker(narrow<std::size_t>(comm.size()), sleeps),
        peers(worker.get(), comm.rank(), gather_bytes(comm, worker.address()), hosts) {}

  [[nodiscard]] bool is_ending() const { return context.ending != nullptr && context.ending->load(std::memory_order_acquire) != 0; }
  /// Progresses until `is_done` or the time is up; whether it is done.
  template <class IsDone>
  bool progress_until(Seconds longest, const IsDone& is_done) {
    const Seconds until = context.clock->now() + longest;
    while (!is_done()) {
      if (context.clock->now() > until) return false;
      if (!worker.progress()) context.clock->sleep_until(context.clock->now() + Seconds{20e-6});
    }
    return true;
  }

  WaitContext context;
  UcxWorker worker;
  UcxPeers peers;
};

class UcxPending final : public Pending {
 public:
  UcxPending(Wires& wires, int peer, bool is_send, std::size_t bytes) : Pending(peer), wires_(wires), is_send_(is_send), bytes_(bytes) {}

  ~UcxPending() override {
    if (request_.is_open() && ucp_request_check_status(request_.get()) == UCS_INPROGRESS) give_up();
  }

  /// Takes what UCX returned for the operation.
  void start(ucs_status_ptr_t returned) {
    if (UCS_PTR_IS_ERR(returned)) {
      status_ = UCS_PTR_STATUS(returned);
    } else if (returned == nullptr) {
      status_ = UCS_OK;
    } else {
      request_ = UcxRequest(returned);
    }
  }

  bool test() override {
    if (status_ == UCS_INPROGRESS) {
      status_ = look();
      if (status_ == UCS_INPROGRESS) {
        wires_.worker.progress();
        status_ = look();
      }
    }
    if (status_ == UCS_INPROGRESS) {
      wires_.peers.check(peer());
      return false;
    }
    if (status_ != UCS_OK && status_ != UCS_ERR_MESSAGE_TRUNCATED) {
      wires_.peers.fail(peer(), status_, is_send_ ? "sending to" : "receiving from");
    }
    if (!is_send_) check_size();
    return true;
  }

 private:
  ucs_status_t look() {
    return is_send_ ? ucp_request_check_status(request_.get()) : ucp_tag_recv_request_test(request_.get(), &received_);
  }

  void check_size() const {
    if (status_ == UCS_OK && received_.length == bytes_) return;
    if (status_ == UCS_OK) {
      throw InvalidArgument(fmt::format("receiving {} bytes from rank {}, but the message has {} bytes", bytes_, peer(), received_.length));
    }
    throw InvalidArgument(fmt::format("receiving {} bytes from rank {}, but the message has more", bytes_, peer()));
  }

  /// The caller unwinds from an error. A receive is cancelled, a send may be on its way: it gets a moment. What is left then is in the
  /// middle of a transfer or was never taken: the peer is given up, so that the buffer is free.
  void give_up() noexcept {
    if (!is_send_) ucp_request_cancel(wires_.worker.get(), request_.get());
    const auto is_complete = [this] { return ucp_request_check_status(request_.get()) != UCS_INPROGRESS; };
    if (wires_.progress_until(kPatience, is_complete)) return;
    wires_.peers.abandon(peer());
    if (wires_.progress_until(kPatience, is_complete)) return;
    log_error(fmt::format("a message to or from rank {} can't be given up while UCX is at its buffer: this rank aborts the job", peer()));
    MpiEnv::abort(EXIT_FAILURE);
  }

  Wires& wires_;
  bool is_send_;
  std::size_t bytes_;
  ucs_status_t status_ = UCS_INPROGRESS;
  UcxRequest request_;
  ucp_tag_recv_info_t received_{};
};

class UcxTransport final : public Transport {
 public:
  UcxTransport(const MpiComm& comm, const WaitContext& context, const std::vector<std::string>& hosts, UcxSleeps* sleeps)
      : comm_(comm), wires_(comm, context, hosts, sleeps), waiter_(context) {}

  /// Everything sent is flushed on all ranks before any endpoint is closed, and all are closed before any worker goes.
  ~UcxTransport() override {
    try {
      const bool is_orderly = !wires_.is_ending() && flush() && meet();
      close(!is_orderly);
      if (is_orderly) meet();
    } catch (const std::exception& error) {
      log_error(fmt::format("leaving UCX: {}", error.what()));
    }
  }

  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }

  Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose /*purpose*/) override {
    check_peer(to_rank, "send to");
    ucp_ep_h const endpoint = wires_.peers.endpoint(to_rank);
    auto pending = std::make_unique<UcxPending>(wires_, to_rank, true, data.size());
    const ucp_request_param_t how{};
    pending->start(ucp_tag_send_nbx(endpoint, data.data(), data.size(), pack(rank(), tag), &how));
    return Request(std::move(pending));
  }

  Request receive(std::span<std::byte> into, int from_rank, Tag tag) override {
    check_peer(from_rank, "receive from");
    static_cast<void>(wires_.peers.endpoint(from_rank));  // without one, nobody would tell that the rank is gone
    auto pending = std::make_unique<UcxPending>(wires_, from_rank, false, into.size());
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // a request knows the message's size
    pending->start(ucp_tag_recv_nbx(wires_.worker.get(), into.data(), into.size(), pack(from_rank, tag), kWholeTag, &how));
    return Request(std::move(pending));
  }

  void progress() override {
    constexpr int kMost = 16;  // then the caller has its turn
    for (int i = 0; i < kMost && wires_.worker.progress(); ++i) {
    }
  }

  void wait(Request& request) override {
    if (request.is_done()) return;
    for (Wait wait(waiter_, request.peer()); !request.is_done();) {
      if (wait.rest_awake()) continue;
      wait.before_sleep();
      if (!wires_.worker.sleep()) wait.rest();
    }
  }

 private:
  void check_peer(int peer, std::string_view doing) const {
    if (peer >= 0 && peer < size()) return;
    throw InvalidArgument(fmt::format("rank {} can't {} rank {}: there are ranks 0 to {}", rank(), doing, peer, size() - 1));
  }

  bool flush() {
    const ucp_request_param_t how{};
    ucs_status_ptr_t const returned = ucp_worker_flush_nbx(wires_.worker.get(), &how);
    if (UCS_PTR_IS_ERR(returned)) return false;
    const UcxRequest flushing(returned);
    return wires_.progress_until(kLongestFarewell,
                                 [&] { return !flushing.is_open() || ucp_request_check_status(flushing.get()) != UCS_INPROGRESS; });
  }

  /// Whether all ranks have come here in time.
  bool meet() {
    MpiBarrier barrier(comm_);
    return wires_.progress_until(kLongestFarewell, [&] { return barrier.is_done(); });
  }

  void close(bool is_forced) {
    const std::vector<UcxRequest> closing = wires_.peers.close(is_forced);
    const bool is_closed = wires_.progress_until(kLongestFarewell, [&] {
      return std::all_of(closing.begin(), closing.end(),
                         [](const UcxRequest& request) { return ucp_request_check_status(request.get()) != UCS_INPROGRESS; });
    });
    if (!is_closed) log_error("an endpoint of UCX did not close in time");
  }

  const MpiComm& comm_;
  Wires wires_;
  Waiter waiter_;
};

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const MpiComm& comm, const WaitContext& context, const std::vector<std::string>& hosts,
                                              UcxSleeps* sleeps) {
  return std::make_unique<UcxTransport>(comm, context, hosts, sleeps);
}

}  // namespace twinax::net
