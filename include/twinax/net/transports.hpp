#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "twinax/net/bootstrap.hpp"

namespace twinax::net {

/// A backend: how a job of its ranks is run.
struct TransportRow {
  std::string_view name, help;
  int (*run)(const WorldOptions&, const std::function<int(World&)>&);
};

/// Ranks are processes, started by mpirun or srun.
int run_mpi_world(const WorldOptions& options, const std::function<int(World&)>& body);
/// Ranks are processes, started likewise; their bytes go through UCX.
int run_ucx_world(const WorldOptions& options, const std::function<int(World&)>& body);
/// Ranks are threads of this process.
int run_loopback_world(const WorldOptions& options, const std::function<int(World&)>& body);

/// Every backend; a new one is one row and one file.
inline constexpr std::array kTransports{
    TransportRow{"mpi", "ranks are processes; MPI point-to-point", &run_mpi_world},
    TransportRow{"ucx", "ranks are processes; UCX: shared memory, TCP (InfiniBand, RoCE: never run)", &run_ucx_world},
    TransportRow{"loopback", "ranks are threads of one process", &run_loopback_world}};

}  // namespace twinax::net
