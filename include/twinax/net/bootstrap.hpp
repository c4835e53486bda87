#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

class MpiComm;

/// What each lane of a rank is doing, in the order of the lanes: compute, collective, service. Waits of the transport are shown in the
/// second.
using LaneActivities = std::array<ActivitySlot, 3>;

/// All ranks of a job, seen from one of them: what a program needs to begin. Threads: its own lane, unless said otherwise.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  /// This rank, 0 to size() - 1.
  [[nodiscard]] int rank() const { return transport().rank(); }
  /// The number of ranks.
  [[nodiscard]] int size() const { return transport().size(); }
  /// What ranks talk through. Tags of lanes::kBootstrap are the world's own.
  [[nodiscard]] virtual Transport& transport() const = 0;
  /// The host's clock.
  [[nodiscard]] virtual Clock& clock() const = 0;
  /// What waits of this rank share: for transports that wrap this one.
  [[nodiscard]] virtual const WaitContext& wait_context() const = 0;
  /// What this rank's lanes are doing: read by the watchdog. Threads: any.
  [[nodiscard]] virtual LaneActivities& activities() const = 0;
  /// Each rank's host; a second node of the same name has "#2" behind it.
  [[nodiscard]] virtual const std::vector<std::string>& hosts() const = 0;
  /// The ranks that share memory, a clock and sight of each other's processes with this one: its node.
  [[nodiscard]] virtual const std::vector<int>& ranks_on_host() const = 0;
  /// Cores that the ranks of this node together can keep busy: all that one of them may run on, or the cgroup's quota if that is less.
  [[nodiscard]] virtual int usable_cores() const = 0;
  /// The communicator of all ranks; null where ranks are threads.
  [[nodiscard]] virtual const MpiComm* mpi_comm() const = 0;
  /// The MPI library and its version, "Open MPI v4.1.4"; empty where ranks are threads.
  [[nodiscard]] virtual std::string mpi_version() const = 0;
  /// Zeroed memory that the ranks of this host map in common; it leaves no trace, and pages that nobody
  /// touches take no memory. Collective: the same size on all ranks. Throws SystemError on all ranks of a host if one can't have it.
  [[nodiscard]] virtual std::shared_ptr<std::byte[]> share(Bytes size) = 0;
  /// Ends the job on all ranks because of an error, which is printed once. May return: then all waits throw PeerLost. Threads: any.
  virtual void fail(const std::exception_ptr& error) noexcept = 0;

  /// Returns when all ranks have arrived; sleeps, for as long as it takes. Collective.
  void sleep_barrier();
  /// The error of the lowest rank that has one; null if none has. Sleeps like sleep_barrier. Collective.
  [[nodiscard]] std::optional<std::string> first_error(const std::optional<std::string>& mine);

 private:
  void sleep_until_done(Request& request);
};

/// Threads of a rank that are busy at a time: computing and communicating.
inline constexpr int kBusyLanes = 2;

/// How a job begins.
struct WorldOptions {
  std::string transport = "mpi";  ///< a name of kTransports
  int ranks = 1;                  ///< of transports whose ranks are threads; MPI's launcher says its own number
  Seconds longest_wait{60};       ///< after which an operation is taken for hung, all ranks report, and the job ends
  int* argc = nullptr;            ///< handed to MPI
  char*** argv = nullptr;
};

/// Runs `body` on every rank, and returns this process's exit code: the largest that a body returned here, or 1 after an error.
///
/// A rank's exception ends the job on all ranks within seconds; it is printed once, by that rank. A rank that is killed ends it within
/// seconds as well, one that is frozen within `longest_wait`, with a report of who waits for whom. Throws InvalidArgument for an unknown
/// transport.
int run_world(const WorldOptions& options, const std::function<int(World&)>& body);

}  // namespace twinax::net
