#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace twinax::record {

/// Where and with what a run was made: the attributes of /environment.
struct Environment {
  std::string hosts{};  ///< "node1:0-1 node2:2-3"
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 1;
  std::string cpu{};
  std::int64_t cores = 1;  ///< of rank 0's host, that its ranks together can keep busy: their affinity, and the cgroup's quota
  std::string mpi{};
  std::string ucx{};
  std::string hdf5;
  std::string compiler{};
  std::string git_revision{};
  std::string transport{};
  std::string network{};      ///< the emulated profile; empty = the real network
  std::string accelerator{};  ///< the emulated one; empty = the real machine
  double dilation = 1;        ///< wall-clock seconds that stand for one second of the emulated cluster
  double model_factor = 1;    ///< how many times longer a step of the model that is stood for takes, at the same rate
  double token_factor = 1;    ///< tokens of that step for each of this run's
};

/// What this process can tell by itself: cpu, cores, hdf5, compiler, git_revision, and `hosts` of one rank; the rest is the caller's.
[[nodiscard]] Environment this_environment();

/// "node1:0-1 node2:2-3" from each rank's host, in rank order.
[[nodiscard]] std::string describe_hosts(std::span<const std::string> host_of_rank);
/// The processor's name, from a text like /proc/cpuinfo's; "unknown" if it isn't there.
[[nodiscard]] std::string cpu_model(std::string_view cpuinfo);
/// Whether the HDF5 library was built for files that several ranks write.
[[nodiscard]] bool is_hdf5_parallel();
/// The commit that this program was built from, "-dirty" added if files differed; "unknown" outside a repository.
[[nodiscard]] std::string git_revision();
/// The compiler, its version and the build type.
[[nodiscard]] std::string compiler_name();
/// The time now, ISO 8601 in UTC: "2025-01-31T12:00:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace twinax::record
