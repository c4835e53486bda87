#include "twinax/collective/native_mpi.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/collective/wire.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"

#include "collective/codec.hpp"
#include "collective/padded_all_reduce.hpp"
#include "collective/sizes.hpp"

namespace twinax::collective {
namespace {

/// A collective operation in flight. MPI can't cancel one: if it is left by an exception it gets a bounded time to end, then the job ends,
/// since MPI would go on writing to memory that is given back.
class Flight {
 public:
  explicit Flight(Clock& clock) : clock_(clock) {}
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  ~Flight() {
    if (request != MPI_REQUEST_NULL) drain();
  }

  bool is_done(std::string_view name) {
    int flag = 0;
    const int code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) net::check_mpi(code, name);
    return flag != 0;
  }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  void drain() noexcept {
    constexpr Seconds kPatience{2};
    constexpr Seconds kPause{1e-3};
    const Seconds until = clock_.now() + kPatience;
    int flag = 0;
    while (clock_.now() < until) {
      if (MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0) return;
      clock_.sleep_until(clock_.now() + kPause);
    }
    log_error("a collective operation of MPI can't be given up while other ranks are in it: this rank aborts the job");
    net::MpiEnv::abort(1);
  }

  Clock& clock_;
};

class NativeMpi final : public NativeCollectives {
 public:
  NativeMpi(const net::MpiComm& world, Group group, const net::WaitContext& context)
      : group_(std::move(group)),
        comm_(net::subgroup(world.get(), group_.ranks)),
        waiter_(context),
        sent_(static_cast<std::size_t>(world.size()) * net::kPurposes.size()) {}

  [[nodiscard]] const Group& group() const override { return group_; }
  [[nodiscard]] const std::vector<std::int64_t>& sent() const override { return sent_; }

  void all_gather(std::span<const float> shard, std::span<float> whole, Dtype wire, net::Purpose purpose) override {
    check_pieces("all-gather", shard.size(), whole.size(), group_.size());
    if (wire == Dtype::Fp32) {
      gather("native/all_gather", std::as_bytes(shard), std::as_writable_bytes(whole), MPI_FLOAT, sizeof(float), purpose);
      return;
    }
    const std::size_t piece = bytes_of(shard.size(), wire);
    const std::span<std::byte> all = grown(encoded_, size() * piece);
    const std::span<std::byte> mine = all.subspan(static_cast<std::size_t>(group_.index) * piece, piece);
    encode(shard, mine, wire);
    gather("native/all_gather", mine, all, type_of(wire), width_of(wire), purpose);
    for (std::size_t k = 0; k < size(); ++k) decode(all.subspan(k * piece, piece), whole.subspan(k * shard.size(), shard.size()), wire);
  }

  void reduce_scatter(std::span<float> whole, std::span<float> shard, Dtype wire, net::Purpose purpose) override {
    check_pieces("reduce-scatter", shard.size(), whole.size(), group_.size());
    const int n = narrow<int>(shard.size());
    if (n == 0) return;
    if (wire == Dtype::Fp32) {
      run("native/reduce_scatter", [&](MPI_Request* request) {
        return MPI_Ireduce_scatter_block(whole.data(), shard.data(), n, MPI_FLOAT, MPI_SUM, comm_.get(), request);
      });
      count_ring(shard.size_bytes(), purpose);
      return;
    }
    const std::size_t piece = bytes_of(shard.size(), wire);
    const std::span<std::byte> outgoing = grown(encoded_, size() * piece);
    const std::span<std::byte> arrived = grown(arrived_, size() * piece);
    for (std::size_t k = 0; k < size(); ++k)
      encode(whole.subspan(k * shard.size(), shard.size()), outgoing.subspan(k * piece, piece), wire);
    const int items = narrow<int>(piece / width_of(wire));
    run("native/all_to_all", [&](MPI_Request* request) {
      return MPI_Ialltoall(outgoing.data(), items, type_of(wire), arrived.data(), items, type_of(wire), comm_.get(), request);
    });
    std::ranges::fill(shard, 0.0F);
    for (std::size_t from = 0; from < size(); ++from) add_decoded(arrived.subspan(from * piece, piece), shard, wire);
    for (int to = 0; to < group_.size(); ++to) count(to, piece, purpose);
  }

  void all_reduce(std::span<float> values, Dtype wire, net::Purpose purpose) override {
    if (wire == Dtype::Fp32) {
      sum(values, MPI_FLOAT, purpose);
    } else {
      padded_.run(*this, values, wire, purpose);
    }
  }

  void all_reduce(std::span<double> values, net::Purpose purpose) override { sum(values, MPI_DOUBLE, purpose); }

  void all_gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all, net::Purpose purpose) override {
    check_pieces("all-gather of bytes", mine.size(), all.size(), group_.size());
    gather("native/all_gather_bytes", mine, all, MPI_BYTE, 1, purpose);
  }

  void broadcast(std::span<std::byte> data, int root, net::Purpose purpose) override {
    check_root(root, group_.size());
    if (data.empty()) return;
    run("native/broadcast",
        [&](MPI_Request* request) { return MPI_Ibcast(data.data(), narrow<int>(data.size()), MPI_BYTE, root, comm_.get(), request); });
    if (next() != root) count(next(), data.size(), purpose);
  }

  void barrier() override {
    run("native/barrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm_.get(), request); });
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(group_.size()); }
  [[nodiscard]] int next() const { return (group_.index + 1) % group_.size(); }
  static std::size_t bytes_of(std::size_t values, Dtype wire) {
    return static_cast<std::size_t>(wire_size(static_cast<std::int64_t>(values), wire).value);
  }
  /// What MPI is told that it moves, where that is not fp32.
  static MPI_Datatype type_of(Dtype wire) { return wire == Dtype::Bf16 ? MPI_UINT16_T : MPI_BYTE; }
  static std::size_t width_of(Dtype wire) { return static_cast<std::size_t>(size_of(wire).value); }
  static std::span<std::byte> grown(std::vector<std::byte>& scratch, std::size_t size) {
    if (scratch.size() < size) scratch.resize(size);
    return std::span(scratch).first(size);
  }

  /// `type` has `bytes` bytes. Works in place too.
  void gather(std::string_view name, std::span<const std::byte> mine, std::span<std::byte> all, MPI_Datatype type, std::size_t bytes,
              net::Purpose purpose) {
    if (mine.empty()) return;
    const int n = narrow<int>(mine.size() / bytes);
    const bool is_in_place = mine.data() == all.data() + static_cast<std::size_t>(group_.index) * mine.size();
    const void* const source = is_in_place ? MPI_IN_PLACE : mine.data();
    run(name, [&](MPI_Request* request) { return MPI_Iallgather(source, n, type, all.data(), n, type, comm_.get(), request); });
    count_ring(mine.size(), purpose);
  }

  template <class Real>
  void sum(std::span<Real> values, MPI_Datatype type, net::Purpose purpose) {
    if (values.empty()) return;
    run("native/all_reduce", [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, values.data(), narrow<int>(values.size()), type, MPI_SUM, comm_.get(), request);
    });
    count_ring(2 * ((values.size() + size() - 1) / size()) * sizeof(Real), purpose);
  }

  /// Starts an operation and waits for it.
  template <class Start>
  void run(std::string_view name, const Start& start) {
    const net::WaitContext& context = waiter_.context();
    if (context.ending != nullptr && context.ending->load(std::memory_order_acquire) != 0) {
      throw PeerLost(fmt::format("beginning {}: the job is ending because a rank failed", name));
    }
    Flight flight(*context.clock);
    const int code = start(&flight.request);
    if (code != MPI_SUCCESS) net::check_mpi(code, fmt::format("beginning {} over {} ranks", name, group_.size()));
    if (flight.is_done(name)) return;
    const int peer = group_.ranks[static_cast<std::size_t>(next())];
    if (context.activity != nullptr) context.activity->wait_for(name, peer, context.clock->now());
    for (net::Wait wait(waiter_, peer); !flight.is_done(name);) wait.rest();
  }

  void count(int to_index, std::size_t bytes, net::Purpose purpose) {
    if (to_index == group_.index) return;
    const auto to = static_cast<std::size_t>(group_.ranks[static_cast<std::size_t>(to_index)]);
    sent_[to * net::kPurposes.size() + static_cast<std::size_t>(purpose)] += static_cast<std::int64_t>(bytes);
  }
  void count_ring(std::size_t piece, net::Purpose purpose) { count(next(), piece * (size() - 1), purpose); }

  Group group_;
  net::MpiComm comm_;
  net::Waiter waiter_;
  std::vector<std::int64_t> sent_;
  // Scratch, grown to the largest operation seen.
  std::vector<std::byte> encoded_, arrived_;
  PaddedAllReduce padded_;
};

}  // namespace

std::unique_ptr<NativeCollectives> make_native_mpi(const net::MpiComm& world, Group group, const net::WaitContext& context) {
  check_member(group, world.rank());
  return std::make_unique<NativeMpi>(world, std::move(group), context);
}

}  // namespace twinax::collective
