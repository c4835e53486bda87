#include "net/mpi_world.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/base/narrow.hpp"
#include "twinax/net/mpi_comm.hpp"
#include "twinax/net/mpi_env.hpp"
#include "twinax/net/mpi_transport.hpp"
#include "twinax/net/transports.hpp"

#include "net/cores.hpp"
#include "net/mpi_shared_memory.hpp"
#include "net/mpi_sharing.hpp"
#include "net/peer_board.hpp"
#include "net/start_guard.hpp"
#include "net/watchdog.hpp"

namespace twinax::net {
namespace {

constexpr Seconds kGrace{2};        // for other hosts' reports, and for the message of the rank that failed first
constexpr Seconds kLeastStart{10};  // that MPI is granted on a busy machine, however short operations may wait

std::vector<std::string> gather_hosts(const MpiComm& world) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "asking for the host's name");
  std::vector<char> all(name.size() * static_cast<std::size_t>(world.size()));
  const int size = narrow<int>(name.size());
  check_mpi(MPI_Allgather(name.data(), size, MPI_CHAR, all.data(), size, MPI_CHAR, world.get()), "gathering the hosts' names");
  std::vector<std::string> hosts;
  for (std::size_t r = 0; r < all.size() / name.size(); ++r) hosts.emplace_back(&all[r * name.size()]);
  return hosts;
}

std::vector<int> gather_ranks(const MpiComm& world, const MpiComm& host) {
  std::vector<int> ranks(static_cast<std::size_t>(host.size()));
  const int mine = world.rank();
  check_mpi(MPI_Allgather(&mine, 1, MPI_INT, ranks.data(), 1, MPI_INT, host.get()), "gathering the ranks of a host");
  return ranks;
}

/// Each rank's node, by the node's first rank.
std::vector<int> gather_nodes(const MpiComm& world, int first_on_node) {
  std::vector<int> nodes(static_cast<std::size_t>(world.size()));
  check_mpi(MPI_Allgather(&first_on_node, 1, MPI_INT, nodes.data(), 1, MPI_INT, world.get()), "gathering each rank's node");
  return nodes;
}

/// The number of cores that one of the host's ranks may run on.
int join_cores(const MpiComm& host) {
  CoreSet cores = CoreSet::allowed();
  const int words = narrow<int>(cores.words().size());
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, cores.words().data(), words, MPI_UINT64_T, MPI_BOR, host.get()),
            "joining the cores of a host's ranks");
  return cores.count();
}

class MpiWorld final : public World {
 public:
  MpiWorld(Seconds longest_wait, const ProcessTransport& make)
      : world_(duplicate(MPI_COMM_WORLD)),
        host_(split_by_memory(split_by_host(world_.get()))),
        ranks_on_host_(gather_ranks(world_, host_)),
        hosts_(tell_apart(gather_hosts(world_), gather_nodes(world_, ranks_on_host_.front()))),
        board_(map_in_common(host_, PeerBoard::size(host_.size())), ranks_on_host_, narrow<std::size_t>(host_.rank()),
               hosts_[narrow<std::size_t>(world_.rank())]),
        cores_(twinax::usable_cores(join_cores(host_), quota_cores())),
        context_(with_cores({.clock = &clock_, .ending = &ending_, .activity = &activities_[1]}, host_.size(), cores_)),
        transport_(make(world_, context_, hosts_)) {
    watchdog_.emplace(WatchdogOptions{.clock = &clock_,
                                      .longest_wait = longest_wait,
                                      .hosts = hosts_,
                                      .beat = [this] { board_.beat(activities_, clock_.now()); },
                                      .look = [this] { return board_.look(clock_.now()); },
                                      .end = [this](const std::string& text, const std::vector<RankState>& ranks) { end(text, ranks); }});
    if (world_.rank() == 0 && CoreSet::allowed().count() < kBusyLanes && sysconf(_SC_NPROCESSORS_ONLN) > 1) {
      log_warn(
          "this rank is bound to 1 core, which its computing and its communication share: start with mpirun --bind-to none, or --map-by "
          "slot:PE=2 --bind-to core");
    }
  }

  [[nodiscard]] Transport& transport() const override { return *transport_; }
  [[nodiscard]] Clock& clock() const override { return clock_; }
  [[nodiscard]] const WaitContext& wait_context() const override { return context_; }
  [[nodiscard]] LaneActivities& activities() const override { return activities_; }
  [[nodiscard]] const std::vector<std::string>& hosts() const override { return hosts_; }
  [[nodiscard]] const std::vector<int>& ranks_on_host() const override { return ranks_on_host_; }
  [[nodiscard]] int usable_cores() const override { return cores_; }
  [[nodiscard]] const MpiComm* mpi_comm() const override { return &world_; }
  [[nodiscard]] std::string mpi_version() const override { return MpiEnv::library_version(); }
  [[nodiscard]] std::shared_ptr<std::byte[]> share(Bytes size) override { return map_in_common(host_, size); }

  void fail(const std::exception_ptr& error) noexcept override {
    std::string text = "unknown error";
    bool is_echo = false;
    try {
      std::rethrow_exception(error);
    } catch (const PeerLost& lost) {
      text = lost.what();
      is_echo = true;
    } catch (const std::exception& failure) {
      text = failure_text(failure);
    } catch (...) {
    }
    if (is_echo) clock_.sleep_until(clock_.now() + kGrace);  // whoever is at fault speaks first
    if (board_.claim_report()) {
      log_error(text);
    } else {
      clock_.sleep_until(clock_.now() + kGrace);
    }
    MpiEnv::abort(EXIT_FAILURE);
  }

  /// All ranks are done with their work.
  void leave() {
    sleep_barrier();
    board_.leave();
    watchdog_.reset();
  }

 private:
  /// On the watchdog's thread: the first of this host prints; each process ends itself too, since a launcher may be told not to.
  void end(const std::string& text, const std::vector<RankState>& ranks) {
    if (board_.claim_report()) log_error(text);
    ending_ = 1;
    clock_.sleep_until(clock_.now() + kGrace / 2);
    for (const RankState& state : ranks) {
      if (!state.is_gone && state.pid != getpid() && state.silent > kGrace) kill(static_cast<pid_t>(state.pid), SIGKILL);
    }
    MpiEnv::abort(EXIT_FAILURE);
  }

  mutable SystemClock clock_;
  std::atomic<std::uint32_t> ending_{0};
  mutable LaneActivities activities_;
  MpiComm world_;
  MpiComm host_;
  std::vector<int> ranks_on_host_;
  std::vector<std::string> hosts_;
  PeerBoard board_;
  int cores_;
  WaitContext context_;
  std::unique_ptr<Transport> transport_;
  std::optional<Watchdog> watchdog_;  // last: it looks at all of the above
};

}  // namespace

int run_processes(const WorldOptions& options, const std::function<int(World&)>& body, const ProcessTransport& make) {
  const Seconds longest_start = std::max(options.longest_wait, kLeastStart);
  std::optional<StartGuard> guard;
  guard.emplace(longest_start, [longest_start] {
    log_error(start_advice(longest_start));
    _exit(EXIT_FAILURE);  // MPI, which hangs, can't be asked to abort; its launcher ends the others
  });
  const MpiEnv env(options.argc, options.argv);
  try {
    MpiWorld world(options.longest_wait, make);
    guard.reset();
    try {
      const int code = body(world);
      world.leave();
      return code;
    } catch (...) {
      world.fail(std::current_exception());
    }
  } catch (const std::exception& error) {
    log_error(failure_text(error));
    MpiEnv::abort(EXIT_FAILURE);
  }
  return EXIT_FAILURE;
}

int run_mpi_world(const WorldOptions& options, const std::function<int(World&)>& body) {
  return run_processes(options, body, [](const MpiComm& world, const WaitContext& context, const std::vector<std::string>& /*hosts*/) {
    return make_mpi_transport(world, context);
  });
}

}  // namespace twinax::net
