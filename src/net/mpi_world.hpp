#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "twinax/net/bootstrap.hpp"
#include "twinax/net/mpi_comm.hpp"

namespace twinax::net {

/// Makes the transport of a rank that is a process. Collective on `world`. All three arguments outlive it.
using ProcessTransport =
    std::function<std::unique_ptr<Transport>(const MpiComm& world, const WaitContext& context, const std::vector<std::string>& hosts)>;

/// Runs `body` on ranks that mpirun or srun has started, over whichever transport `make` makes.
int run_processes(const WorldOptions& options, const std::function<int(World&)>& body, const ProcessTransport& make);

}  // namespace twinax::net
