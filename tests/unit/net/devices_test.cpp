#include "twinax/net/devices.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_folder.hpp"

namespace twinax::net {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

DeviceUse use(const std::string& name, std::int64_t sent_before, std::int64_t sent_after) {
  return {.host = "a",
          .before = {.name = name, .received = 0, .sent = sent_before},
          .after = {.name = name, .received = 0, .sent = sent_after}};
}

TEST(DeviceCounters, AreBytesOfNetworkDevicesAndWordsOfInfiniBandPorts) {
  const test::ScratchFolder scratch;
  const std::filesystem::path root = scratch.path();
  write(root / "net/lo/statistics/rx_bytes", "7\n");
  write(root / "net/lo/statistics/tx_bytes", "7\n");
  write(root / "net/eth0/statistics/rx_bytes", "10000000000\n");
  write(root / "net/eth0/statistics/tx_bytes", "20\n");
  write(root / "net/bonding_masters", "bond0\n");  // a file among the folders
  write(root / "net/broken/statistics/rx_bytes", "none\n");
  write(root / "infiniband/mlx5_0/ports/1/counters/port_rcv_data", "25\n");
  write(root / "infiniband/mlx5_0/ports/1/counters/port_xmit_data", "3000000000\n");
  write(root / "infiniband/mlx5_0/ports/2/counters/port_rcv_data", "0\n");
  write(root / "infiniband/mlx5_0/ports/2/counters/port_xmit_data", "1\n");
  EXPECT_THAT(read_device_counters(root.string()),
              ElementsAre(DeviceCounters{"eth0", 10000000000, 20}, DeviceCounters{"lo", 7, 7}, DeviceCounters{"mlx5_0:1", 100, 12000000000},
                          DeviceCounters{"mlx5_0:2", 0, 4}));
  EXPECT_THAT(read_device_counters((root / "nowhere").string()), IsEmpty());
}

TEST(DeviceCounters, OfThisHostGrow) {
  const auto before = read_device_counters();
  ASSERT_FALSE(before.empty());
  for (const DeviceUse& device : devices_between("here", before, read_device_counters())) EXPECT_GE(device.sent(), 0);
}

TEST(DeviceSpeed, IsTheKernelsMegabitsWhereItHasAny) {
  const test::ScratchFolder scratch;
  const std::filesystem::path root = scratch.path();
  write(root / "net/eth0/speed", "25000\n");
  write(root / "net/down/speed", "-1\n");
  write(root / "net/zero/speed", "0\n");
  write(root / "net/odd/speed", "fast\n");
  write(root / "net/lo/mtu", "65536\n");
  EXPECT_EQ(read_device_speed("eth0", root.string()), BytesPerSecond{3.125e9});
  for (const std::string unknown : {"down", "zero", "odd", "lo", "none", "mlx5_0:1"}) {
    EXPECT_EQ(read_device_speed(unknown, root.string()), std::nullopt) << unknown;
  }
}

TEST(DevicesBetween, LeavesOutWhatCameOrWent) {
  const std::vector<DeviceCounters> before{{"eth0", 1, 2}, {"gone", 0, 0}};
  const std::vector<DeviceCounters> after{{"eth0", 5, 12}, {"new", 9, 9}};
  const auto devices = devices_between("a", before, after);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].host, "a");
  EXPECT_EQ(devices[0].sent(), 10);
}

TEST(DeviceUse, CountsNothingWhereCountersWereReset) {
  EXPECT_EQ(use("eth0", 100, 40).sent(), 0);
}

TEST(JudgeWire, IsContentIfTheBytesLeftByADevice) {
  const std::vector<DeviceUse> devices{use("eth0", 5, 5 + 104'000'000), use("eth1", 0, 0), use("lo", 0, 9)};
  EXPECT_EQ(judge_wire(devices, 100'000'000, ""), std::nullopt);
  EXPECT_EQ(judge_wire(devices, 100'000'000, "eth0"), std::nullopt);
}

TEST(JudgeWire, WarnsIfTheBytesLeftByAnotherDevice) {
  const std::vector<DeviceUse> devices{use("eth0", 0, 3'000'000), use("eth1", 0, 104'000'000)};
  EXPECT_EQ(judge_wire(devices, 100'000'000, ""), std::nullopt);
  EXPECT_THAT(judge_wire(devices, 100'000'000, "eth0"),
              Optional(AllOf(HasSubstr("a: "), HasSubstr("eth1 "), HasSubstr("UCX_NET_DEVICES"))));
  EXPECT_NE(judge_wire(devices, 100'000'000, "eth7"), std::nullopt);
}

TEST(JudgeWire, WarnsIfTheBytesNeverLeft) {
  const std::vector<DeviceUse> devices{use("eth0", 0, 1000), use("lo", 0, 104'000'000)};
  EXPECT_THAT(judge_wire(devices, 100'000'000, ""), Optional(HasSubstr("all devices but loopback")));
}

TEST(JudgeWire, HasItsLimitsAtNineTenthsAndOneMebibyte) {
  const std::vector<DeviceUse> devices{use("eth0", 0, 9'000'000)};
  EXPECT_EQ(judge_wire(devices, 10'000'000, ""), std::nullopt);
  EXPECT_NE(judge_wire(devices, 10'000'012, ""), std::nullopt);
  const std::vector<DeviceUse> quiet{use("eth0", 0, 0)};
  EXPECT_EQ(judge_wire(quiet, (1 << 20) - 1, ""), std::nullopt);
  EXPECT_NE(judge_wire(quiet, 1 << 20, ""), std::nullopt);
  EXPECT_EQ(judge_wire({}, 1 << 30, ""), std::nullopt);  // nothing is known
}

}  // namespace
}  // namespace twinax::net
