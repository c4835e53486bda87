#include <cstddef>
#include <cstdlib>
#include <vector>

#include "contract/transport_contract.hpp"
#include "support/mpi_world.hpp"

namespace twinax::net {
namespace {

TransportRowUnderTest processes(const std::string& wrapping) {
  return {wrapping, [wrapping](const RankBody& body) {
            const auto board = test::world().share(NicBoard::size(test::world().size()));
            with_wrapping(wrapping, test::world().transport(), test::world().wait_context(), board, body);
          }};
}

INSTANTIATE_TEST_SUITE_P(Processes, TransportContract, ::testing::Values(processes("bare"), processes("shaped"), processes("counted")),
                         row_name);

/// With a wait for each of them this would outlast the time limit of a test.
TEST(MpiTransport, GivesUpMessagesThatNobodyTakesTogether) {
  if (std::getenv("TWINAX_TEST_TRANSPORT") != nullptr) GTEST_SKIP() << "UCX gives the peer up with them: see net_ucx_transport_test";
  World& world = test::world();
  constexpr std::size_t kMessages = 400, kBytes = 1 << 20;  // too large to be sent before they are asked for
  static const std::vector<std::byte> data(kBytes);         // outlives the messages that MPI is left with
  Transport& transport = world.transport();
  const Tag tag{0x3fU << 8};
  const int next = (world.rank() + 1) % world.size();
  if (world.size() > 1) {
    std::vector<Request> sends;
    for (std::size_t i = 0; i < kMessages; ++i) sends.push_back(transport.send(data, next, tag, Purpose::Control));
  }
  world.sleep_barrier();
  std::vector<std::byte> into(kBytes);
  for (std::size_t i = 0; i < kMessages && world.size() > 1; ++i) {  // MPI itself still has them
    Request receive = transport.receive(into, (world.rank() + world.size() - 1) % world.size(), tag);
    transport.wait(receive);
  }
}

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
