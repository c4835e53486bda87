#include "twinax/net/transports.hpp"
#include "twinax/net/ucx_transport.hpp"

#include "net/mpi_world.hpp"
#include "net/ucx_handles.hpp"

namespace twinax::net {

int run_ucx_world(const WorldOptions& options, const std::function<int(World&)>& body) {
  set_ucx_defaults();  // before MPI starts threads
  return run_processes(options, body, [](const MpiComm& world, const WaitContext& context, const std::vector<std::string>& hosts) {
    return make_ucx_transport(world, context, hosts);
  });
}

}  // namespace twinax::net
