#pragma once

#include <sched.h>
#include <unistd.h>

namespace twinax::net {

/// Cores that this process may run on.
inline int bound_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

/// Whether waits may spin: every rank of the host has cores for computing and for communicating.
inline bool has_spare_cores(int ranks_on_host) {
  constexpr int kBusyLanes = 2;
  return bound_cores() >= kBusyLanes * ranks_on_host;
}

}  // namespace twinax::net
