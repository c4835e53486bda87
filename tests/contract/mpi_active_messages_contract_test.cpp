#include "contract/active_messages_contract.hpp"
#include "support/mpi_world.hpp"

namespace twinax::net {
namespace {

ActiveRow mpi(const std::string& wrapping) {
  return {wrapping, [wrapping](const ActiveBody& body) {
            World& world = test::world();
            const auto board = world.share(NicBoard::size(world.size()));
            with_wrapping(wrapping, world.transport(), world.wait_context(), board,
                          [&](Transport& transport) { body(transport, world.wait_context()); });
          }};
}

INSTANTIATE_TEST_SUITE_P(Mpi, ActiveMessagesContract, ::testing::Values(mpi("bare"), mpi("shaped"), mpi("counted")), active_row_name);

}  // namespace
}  // namespace twinax::net
