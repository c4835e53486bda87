#include "contract/transport_contract.hpp"
#include "support/mpi_world.hpp"

namespace twinax::net {
namespace {

TransportRowUnderTest mpi(const std::string& wrapping) {
  return {wrapping, [wrapping](const RankBody& body) {
            const auto board = test::world().share(NicBoard::size(test::world().size()));
            with_wrapping(wrapping, test::world().transport(), test::world().wait_context(), board, body);
          }};
}

INSTANTIATE_TEST_SUITE_P(Mpi, TransportContract, ::testing::Values(mpi("bare"), mpi("shaped"), mpi("counted")), row_name);

TEST(MpiWorld, SharesZeroedMemoryThatLeavesNoName) {
  World& world = test::world();
  const auto memory = world.share(Bytes{4096});
  EXPECT_EQ(memory[4095], std::byte{0});
  world.sleep_barrier();
  memory[static_cast<std::size_t>(world.rank())] = std::byte{7};
  world.sleep_barrier();
  for (int r = 0; r < world.size(); ++r) EXPECT_EQ(memory[static_cast<std::size_t>(r)], std::byte{7});
}

TEST(MpiWorld, KnowsItsHostsAndRanks) {
  World& world = test::world();
  EXPECT_EQ(std::ssize(world.hosts()), world.size());
  EXPECT_EQ(std::ssize(world.ranks_on_host()), world.size());
  EXPECT_NE(world.mpi_comm(), nullptr);
}

}  // namespace
}  // namespace twinax::net
