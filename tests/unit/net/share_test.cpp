#include <cstddef>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/net/bootstrap.hpp"

#include "support/mpi_world.hpp"

namespace twinax::net {
namespace {

/// Every rank finds in the memory what every rank wrote there.
void expect_common(World& world) {
  const auto memory = world.share(Bytes{4096});
  const auto slot = static_cast<std::size_t>(world.rank());
  memory[slot] = static_cast<std::byte>(world.rank() + 1);
  world.sleep_barrier();
  int sum = 0;
  for (int r = 0; r < world.size(); ++r) sum += static_cast<int>(memory[static_cast<std::size_t>(r)]);
  EXPECT_EQ(sum, world.size() * (world.size() + 1) / 2);
  world.sleep_barrier();
}

TEST(Share, IsMemoryOfAllRanks) {
  expect_common(test::world());
}

TEST(Share, FailsOnAllRanksWhereOneCanNotMapIt) {
  World& world = test::world();
  for (int unable = 1; unable < world.size(); ++unable) {
    const Bytes size{world.rank() == unable ? 1 << 20 : 4096};  // more than the first rank has made: what it finds is a stranger's
    EXPECT_THROW((void)world.share(size), SystemError) << "rank " << unable << " can't map it";
    expect_common(world);
  }
}

}  // namespace
}  // namespace twinax::net
