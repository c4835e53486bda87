#include "twinax/net/mpi_transport.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_env.hpp"

namespace twinax::net {
namespace {

/// What is left of the time that a rank waits, in all, for messages that nobody waits for any more: an error gets out soon, however many
/// are in flight.
struct Patience {
  Seconds left{0.2};
  bool has_reported = false;
};

class MpiPending final : public Pending {
 public:
  MpiPending(int peer, bool is_send, const Clock& clock, Patience& patience)
      : Pending(peer), is_send_(is_send), clock_(clock), patience_(patience) {}

  ~MpiPending() override {
    if (request_ != MPI_REQUEST_NULL) give_up();
  }

  bool test() override {
    int is_done = 0;
    MPI_Status status;
    const int code = MPI_Test(&request_, &is_done, &status);
    if (code != MPI_SUCCESS) check_mpi(code, fmt::format("{} rank {}", is_send_ ? "sending to" : "receiving from", peer()));
    if (is_done == 0) return false;
    if (!is_send_) check_size(status);
    return true;
  }

  MPI_Request request_ = MPI_REQUEST_NULL;
  int bytes_ = 0;

 private:
  void check_size(const MPI_Status& status) const {
    int received = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &received), "asking for a message's size");
    if (received != bytes_) {
      throw InvalidArgument(fmt::format("receiving {} bytes from rank {}, but the message has {} bytes", bytes_, peer(), received));
    }
  }

  /// The caller unwinds from an error: a receive is cancelled; a send that its receiver never takes is left to MPI when time is up.
  void give_up() noexcept {
    if (!is_send_) MPI_Cancel(&request_);
    const Seconds begin = clock_.now();
    int is_done = 0;
    do {
      if (MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    } while (is_done == 0 && clock_.now() - begin < patience_.left);
    patience_.left = std::max(patience_.left - (clock_.now() - begin), Seconds{0});
    if (is_done != 0 || patience_.has_reported) return;
    log_error(fmt::format("a message to or from rank {} was abandoned in flight (others may have been, too)", peer()));
    patience_.has_reported = true;
  }

  bool is_send_;
  const Clock& clock_;
  Patience& patience_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(const MpiComm& comm, const WaitContext& context) : comm_(comm), waiter_(context) {}

  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }

  Request send(std::span<const std::byte> data, int to_rank, Tag tag, Purpose /*purpose*/) override {
    check_peer(to_rank, "send to");
    auto pending = std::make_unique<MpiPending>(to_rank, true, *waiter_.context().clock, patience_);
    pending->bytes_ = narrow<int>(data.size());
    const int code = MPI_Isend(data.data(), pending->bytes_, MPI_BYTE, to_rank, narrow<int>(tag.value), comm_.get(), &pending->request_);
    if (code != MPI_SUCCESS) check_mpi(code, fmt::format("sending {} bytes to rank {}", data.size(), to_rank));
    return Request(std::move(pending));
  }

  Request receive(std::span<std::byte> into, int from_rank, Tag tag) override {
    check_peer(from_rank, "receive from");
    auto pending = std::make_unique<MpiPending>(from_rank, false, *waiter_.context().clock, patience_);
    pending->bytes_ = narrow<int>(into.size());
    const int code = MPI_Irecv(into.data(), pending->bytes_, MPI_BYTE, from_rank, narrow<int>(tag.value), comm_.get(), &pending->request_);
    if (code != MPI_SUCCESS) check_mpi(code, fmt::format("receiving {} bytes from rank {}", into.size(), from_rank));
    return Request(std::move(pending));
  }

  void progress() override {
    int found = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, MPI_STATUS_IGNORE), "making progress");
  }

  void wait(Request& request) override {
    if (request.is_done()) return;
    for (Wait wait(waiter_, request.peer()); !request.is_done();) wait.rest();
  }

 private:
  void check_peer(int peer, std::string_view doing) const {
    if (peer >= 0 && peer < size()) return;
    throw InvalidArgument(fmt::format("rank {} can't {} rank {}: there are ranks 0 to {}", rank(), doing, peer, size() - 1));
  }

  const MpiComm& comm_;
  Waiter waiter_;
  Patience patience_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const MpiComm& comm, const WaitContext& context) {
  return std::make_unique<MpiTransport>(comm, context);
}

}  // namespace twinax::net
