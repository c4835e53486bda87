#include <cstddef>
#include <memory>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "twinax/base/error.hpp"
#include "twinax/net/bootstrap.hpp"

#include "support/mpi_world.hpp"

namespace twinax::net {
namespace {

/// As long as it lives this process can't open a further file.
class NoFurtherFile {
 public:
  NoFurtherFile() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 3, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoFurtherFile(const NoFurtherFile&) = delete;
  NoFurtherFile& operator=(const NoFurtherFile&) = delete;
  ~NoFurtherFile() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

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
  for (int unable = 0; unable < world.size(); ++unable) {
    {
      std::unique_ptr<NoFurtherFile> limit;
      if (world.rank() == unable) limit = std::make_unique<NoFurtherFile>();
      EXPECT_THROW((void)world.share(Bytes{4096}), SystemError) << "rank " << unable << " can't map it";
    }
    expect_common(world);
  }
}

}  // namespace
}  // namespace twinax::net
