#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/doctor_facts.hpp"
#include "app/doctor_findings.hpp"
#include "support/scratch_folder.hpp"

namespace twinax::app {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A host on which nothing is amiss: 2 ranks, 8 cores.
HostFacts good_host(const std::string& name = "a") {
  HostFacts facts;
  facts.host = name;
  facts.ranks = 2;
  facts.online_cores = facts.allowed_cores = facts.usable_cores = 8;
  facts.shared_memory = Bytes{1LL << 30};
  facts.can_share_memory = true;
  facts.clock_source = "tsc";
  facts.clock_resolution = {1e-9};
  facts.ucx = "1.13.1";
  facts.ucx_ways = {"tcp: eth0, lo", "posix: memory"};
  facts.hdf5 = "1.10.8";
  facts.is_hdf5_parallel = true;
  facts.network = {
      {.name = "eth0", .is_up = true, .has_carrier = true, .is_bridge = false, .megabit_per_s = 10000, .addresses = {"10.0.0.1"}},
      {.name = "lo", .is_up = true, .has_carrier = false, .is_bridge = false, .megabit_per_s = 0, .addresses = {"127.0.0.1"}}};
  facts.infiniband = {"mlx5_0:1 (4: ACTIVE, 100 Gb/sec (4X EDR))"};
  return facts;
}

Finding about(const std::string& subject, const HostFacts& facts) {
  for (const Finding& finding : judge_host(facts)) {
    if (finding.subject == subject && finding.standing != Standing::Ok) return finding;
  }
  for (const Finding& finding : judge_host(facts)) {
    if (finding.subject == subject) return finding;
  }
  ADD_FAILURE() << "nothing about " << subject;
  return {};
}

TEST(Doctor, FindsNothingButTheMissingAcceleratorOnAGoodHost) {
  for (const Finding& finding : judge_host(good_host())) {
    EXPECT_EQ(finding.standing, finding.subject == "CUDA" ? Standing::Missing : Standing::Ok) << to_text(finding);
    EXPECT_EQ(finding.advice, "") << to_text(finding);
  }
  EXPECT_FALSE(is_broken(judge_host(good_host())));
}

TEST(Doctor, SaysHowToBindRanksThatHaveOneCore) {
  HostFacts facts = good_host();
  facts.allowed_cores = 1;
  const Finding finding = about("cores", facts);
  EXPECT_EQ(finding.standing, Standing::Warning);
  EXPECT_THAT(finding.text, HasSubstr("1 of 8 cores"));
  EXPECT_THAT(finding.advice, HasSubstr("mpirun --map-by slot:PE=2 --bind-to core"));
}

TEST(Doctor, ComparesCoresWithBusyThreadsOfAllRanks) {
  HostFacts facts = good_host();
  facts.ranks = 4;
  EXPECT_EQ(about("cores", facts).standing, Standing::Ok);
  facts.ranks = 5;
  EXPECT_EQ(about("cores", facts).standing, Standing::Warning);
  EXPECT_THAT(about("cores", facts).advice, HasSubstr("4 rank(s) would have a core for each"));
  facts.usable_cores = 2;  // of a container on a large host
  EXPECT_THAT(about("cores", facts).advice, HasSubstr("1 rank(s) would have a core for each"));
  facts.allowed_cores = 2;
  facts.usable_cores = 10;  // each rank is bound to two cores of its own
  EXPECT_EQ(about("cores", facts).standing, Standing::Ok);
  facts.online_cores = facts.allowed_cores = facts.usable_cores = 1;  // one core can't be bound better
  facts.ranks = 1;
  EXPECT_THAT(about("cores", facts).advice, HasSubstr("lanes share cores"));
}

TEST(Doctor, ShowsAQuotaThatIsLessThanTheRanksWant) {
  HostFacts facts = good_host();
  facts.quota_cores = 1.5;
  EXPECT_EQ(about("CPU quota", facts).standing, Standing::Warning);
  EXPECT_THAT(about("CPU quota", facts).text, HasSubstr("1.5 of 8"));
  EXPECT_THAT(about("CPU quota", facts).advice, HasSubstr("allow it 4 cores"));
  facts.quota_cores = 4;
  EXPECT_EQ(about("CPU quota", facts).standing, Standing::Ok);
}

TEST(Doctor, WarnsOfSlowAndCoarseClocks) {
  HostFacts facts = good_host();
  facts.clock_source = "hpet";
  EXPECT_EQ(about("clock", facts).standing, Standing::Warning);
  facts.clock_source = "kvm-clock";
  EXPECT_EQ(about("clock", facts).standing, Standing::Ok);
  facts.clock_resolution = {4e-3};
  EXPECT_EQ(about("clock", facts).standing, Standing::Warning);
}

TEST(Doctor, WarnsOfSmallSharedMemoryAndIsBrokenWithoutCommonMemory) {
  HostFacts facts = good_host();
  facts.shared_memory = Bytes{64LL << 20};  // what containers get by default
  EXPECT_EQ(about("/dev/shm", facts).standing, Standing::Warning);
  EXPECT_THAT(about("/dev/shm", facts).advice, HasSubstr("--shm-size=1g"));
  EXPECT_FALSE(is_broken(judge_host(facts)));
  facts.can_share_memory = false;
  EXPECT_EQ(about("memory", facts).standing, Standing::Broken);
  EXPECT_TRUE(is_broken(judge_host(facts)));
}

TEST(Doctor, SaysWhichNetworkDevicesWork) {
  HostFacts facts = good_host();
  EXPECT_EQ(about("network", facts).text, "eth0: up, 10000 Mbit/s, 10.0.0.1");
  facts.network[0].has_carrier = false;
  EXPECT_EQ(judge_host(facts).back().text, "no device that leads to other hosts");
  facts.network[1].is_up = false;
  EXPECT_EQ(about("network", facts).standing, Standing::Warning);
  EXPECT_THAT(about("network", facts).text, HasSubstr("lo: down"));
}

TEST(Doctor, NamesWhatIsMissingOfLibraries) {
  HostFacts facts = good_host();
  facts.ucx_ways.clear();
  facts.is_hdf5_parallel = false;
  facts.infiniband.clear();
  facts.nvidia_devices = 2;
  EXPECT_EQ(about("UCX", facts).standing, Standing::Warning);
  EXPECT_EQ(about("HDF5", facts).standing, Standing::Missing);
  EXPECT_EQ(about("InfiniBand", facts).standing, Standing::Missing);
  EXPECT_THAT(about("CUDA", facts).text, HasSubstr("2 NVIDIA device(s)"));
  EXPECT_FALSE(is_broken(judge_host(facts)));
}

TEST(DoctorOfHosts, PointsAtAnAddressThatTwoHostsHave) {
  HostFacts a = good_host("a"), b = good_host("b"), c = good_host("c");
  b.network[0].addresses = {"10.0.0.2"};
  c.network[0].addresses = {"10.0.0.3"};
  EXPECT_THAT(judge_hosts(std::vector<HostFacts>{a, b, c}), IsEmpty());  // all have 127.0.0.1
  for (HostFacts* host : {&a, &c})
    host->network.push_back({.name = "docker0", .is_up = true, .has_carrier = true, .is_bridge = true, .addresses = {"172.17.0.1"}});
  const auto findings = judge_hosts(std::vector<HostFacts>{a, b, c});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].standing, Standing::Warning);
  EXPECT_EQ(findings[0].text, "172.17.0.1 is docker0 on a, docker0 on c");
  EXPECT_THAT(findings[0].advice, HasSubstr("btl_tcp_if_include eth0"));
  EXPECT_THAT(findings[0].advice, HasSubstr("UCX_NET_DEVICES=eth0"));
}

TEST(DoctorOfHosts, HasNoDeviceToNameWhereAllAddressesAreDouble) {
  EXPECT_EQ(judge_hosts(std::vector<HostFacts>{good_host("a"), good_host("b")})[0].advice, "give each host an address of its own");
}

TEST(MergeFindings, SaysOnceWhatAllHostsShare) {
  const Finding clock{Standing::Ok, "clock", "tsc", ""}, slow{Standing::Warning, "clock", "hpet", "x"},
      cores{Standing::Ok, "cores", "8", ""};
  const std::vector<std::string> hosts{"a", "b", "c"};
  EXPECT_THAT(merge_findings(hosts, {{clock, cores}, {slow, cores}, {clock, cores}}),
              ElementsAre(Finding{Standing::Ok, "clock", "a, c: tsc", ""}, Finding{Standing::Warning, "clock", "b: hpet", "x"}, cores));
}

TEST(DoctorText, PutsAdviceBelow) {
  EXPECT_EQ(to_text({Standing::Warning, "clock", "hpet", "change it"}), "warning  clock       hpet\n                     -> change it\n");
  EXPECT_EQ(to_text({Standing::Ok, "clock", "tsc", ""}), "OK       clock       tsc\n");
}

TEST(HostFacts, AreReadFromTheKernelsFiles) {
  const test::ScratchFolder scratch;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((scratch.path() / path).parent_path());
    std::ofstream(scratch.path() / path) << text;
  };
  write("sys/class/net/ib7/flags", "0x1003\n");
  write("sys/class/net/ib7/carrier", "1\n");
  write("sys/class/net/ib7/speed", "100000\n");
  write("sys/class/net/off/bridge/bridge_id", "8000\n");
  write("sys/class/net/off/flags", "0x1002\n");
  write("sys/class/net/off/speed", "-1\n");
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  write("proc/driver/nvidia/gpus/0000:01:00.0/information", "");
  const HostFacts facts = read_host_facts(scratch.path().string());
  ASSERT_EQ(facts.network.size(), 2U);
  EXPECT_EQ(facts.network[0].name, "ib7");
  EXPECT_TRUE(facts.network[0].is_up && facts.network[0].has_carrier);
  EXPECT_EQ(facts.network[0].megabit_per_s, 100000);
  EXPECT_FALSE(facts.network[0].is_bridge);
  EXPECT_TRUE(facts.network[1].is_bridge);
  EXPECT_FALSE(facts.network[1].is_up);
  EXPECT_EQ(facts.network[1].megabit_per_s, 0);
  EXPECT_THAT(facts.infiniband, ElementsAre("mlx5_0:1 (4: ACTIVE, 100 Gb/sec (4X EDR))"));
  EXPECT_EQ(facts.clock_source, "hpet");
  EXPECT_EQ(facts.nvidia_devices, 1);
}

TEST(HostFacts, OfThisHostHaveWhatEveryHostHas) {
  const HostFacts facts = read_host_facts();
  EXPECT_TRUE(facts.can_share_memory);
  EXPECT_GE(facts.allowed_cores, 1);
  EXPECT_LE(facts.allowed_cores, facts.online_cores);
  EXPECT_GT(facts.clock_resolution, Seconds{0});
  EXPECT_THAT(facts.ucx_ways, Contains(HasSubstr("self: ")));
}

}  // namespace
}  // namespace twinax::app
