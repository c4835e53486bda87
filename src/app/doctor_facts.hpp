#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::app {

/// A network device of a host.
struct NetworkDevice {
  std::string name;
  bool is_up = false;
  bool has_carrier = false;
  bool is_bridge = false;
  std::int64_t megabit_per_s = 0;  ///< as the driver says; 0 = it doesn't
  std::vector<std::string> addresses;
};

/// What one rank sees of its host.
struct HostFacts {
  std::string host;
  int ranks = 1;  ///< of the job, on this host
  std::int64_t online_cores = 1;
  std::int64_t allowed_cores = 1;  ///< by this rank's affinity
  std::int64_t usable_cores = 1;   ///< that the ranks here together can keep busy, by all their affinities and the quota
  double quota_cores = 0;          ///< that the cgroup allows; 0 = no limit
  Bytes shared_memory{0};          ///< size of /dev/shm
  bool can_share_memory = false;   ///< memory without a name can be made, and opened by its place in /proc
  std::string clock_source;
  Seconds clock_resolution{0};
  std::string ucx;                    ///< version
  std::vector<std::string> ucx_ways;  ///< "tcp: eth0, lo"
  std::string hdf5;
  bool is_hdf5_parallel = false;
  std::int64_t nvidia_devices = 0;
  std::vector<NetworkDevice> network;
  std::vector<std::string> infiniband;  ///< "mlx5_0:1 ACTIVE 100 Gb/sec"
};

/// Reads them all. Nothing here talks to other ranks, or starts MPI. `root` stands for "/" where files of the kernel are read.
[[nodiscard]] HostFacts read_host_facts(const std::string& root = "/");

}  // namespace twinax::app
