#include "app/doctor_findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/units_text.hpp"
#include "twinax/net/bootstrap.hpp"

namespace twinax::app {
namespace {

constexpr Bytes kLeastSharedMemory{256LL << 20};
constexpr Seconds kCoarsestClock{1e-6};
constexpr std::array<std::string_view, 5> kFastClocks{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"};

Finding judge_cores(const HostFacts& facts) {
  const std::int64_t wanted = static_cast<std::int64_t>(facts.ranks) * net::kBusyLanes;
  const std::string here = fmt::format("{} of {} cores for each rank, {} for all {} rank(s) here, {} busy threads a rank",
                                       facts.allowed_cores, facts.online_cores, facts.usable_cores, facts.ranks, net::kBusyLanes);
  if (facts.allowed_cores < net::kBusyLanes && facts.online_cores >= net::kBusyLanes) {
    return {
        Standing::Warning, "cores", here,
        "a rank's computing and its communication share a core: mpirun --bind-to none, or, with 2 cores a rank, mpirun --map-by slot:PE=2 "
        "--bind-to core"};
  }
  if (facts.usable_cores < wanted) {
    return {Standing::Warning, "cores", here,
            fmt::format("lanes share cores, so that waits sleep instead of spinning; {} rank(s) would have a core for each",
                        std::max<std::int64_t>(1, facts.usable_cores / net::kBusyLanes))};
  }
  return {Standing::Ok, "cores", here, ""};
}

Finding judge_quota(const HostFacts& facts) {
  if (facts.quota_cores <= 0) return {Standing::Ok, "CPU quota", "none", ""};
  const std::string text = fmt::format("the time of {:g} of {} core(s)", facts.quota_cores, facts.allowed_cores);
  const double wanted = static_cast<double>(facts.ranks * std::min<std::int64_t>(facts.allowed_cores, net::kBusyLanes));
  if (facts.quota_cores >= wanted) return {Standing::Ok, "CPU quota", text, ""};
  return {Standing::Warning, "CPU quota", text,
          fmt::format("the container is stopped for part of each period, which looks like a slow network: allow it {:g} cores (docker "
                      "--cpus, Kubernetes limits), or start fewer ranks",
                      wanted)};
}

Finding judge_clock(const HostFacts& facts) {
  const std::string source = facts.clock_source.empty() ? "unknown source" : facts.clock_source;
  const std::string text = fmt::format("{}, resolution {}", source, for_people(facts.clock_resolution));
  const bool is_fast = facts.clock_source.empty() || std::ranges::find(kFastClocks, facts.clock_source) != kFastClocks.end();
  if (is_fast && facts.clock_resolution <= kCoarsestClock) return {Standing::Ok, "clock", text, ""};
  return {Standing::Warning, "clock", text,
          "reading it is slow or coarse: emulated latencies and short operations are inexact; the kernel's choices stand in "
          "/sys/devices/system/clocksource/clocksource0/available_clocksource"};
}

Finding judge_shared_memory(const HostFacts& facts) {
  const std::string text = for_people(facts.shared_memory);
  if (facts.shared_memory >= kLeastSharedMemory) return {Standing::Ok, "/dev/shm", text, ""};
  return {Standing::Warning, "/dev/shm", text,
          "MPI and UCX send through it between ranks of a host, and fail when it is full: docker run --shm-size=1g, or mount -o "
          "remount,size=1g /dev/shm"};
}

Finding judge_common_memory(const HostFacts& facts) {
  if (facts.can_share_memory) return {Standing::Ok, "memory", "ranks of this host can map memory in common (memfd)", ""};
  return {Standing::Broken, "memory", "no memory that ranks of this host could map in common: memfd_create, or opening it in /proc, failed",
          "mount /proc, and allow memfd_create in the container's seccomp profile"};
}

std::vector<Finding> judge_network(const HostFacts& facts) {
  std::vector<Finding> findings;
  bool has_way_out = false;
  for (const NetworkDevice& device : facts.network) {
    const bool is_loopback = device.name == "lo";
    const bool works = device.is_up && (device.has_carrier || is_loopback);
    const std::string speed = device.megabit_per_s > 0 ? fmt::format(", {} Mbit/s", device.megabit_per_s) : "";
    const std::string address = device.addresses.empty() ? ", no address" : fmt::format(", {}", fmt::join(device.addresses, ", "));
    const std::string state = !device.is_up ? "down" : works ? "up" : "no carrier";
    findings.push_back({Standing::Ok, "network", fmt::format("{}: {}{}{}", device.name, state, speed, address), ""});
    has_way_out = has_way_out || (works && !is_loopback && !device.addresses.empty());
    if (is_loopback && !works) {
      findings.back().standing = Standing::Warning;
      findings.back().advice = "MPI's and UCX's TCP on one host need it: ip link set lo up";
    }
  }
  if (!has_way_out) {
    findings.push_back({Standing::Missing, "network", "no device that leads to other hosts", "ranks can run on this host alone"});
  }
  return findings;
}

Finding judge_infiniband(const HostFacts& facts) {
  if (facts.infiniband.empty()) return {Standing::Missing, "InfiniBand", "no InfiniBand or RoCE port", ""};
  return {Standing::Ok, "InfiniBand", fmt::format("{}", fmt::join(facts.infiniband, ", ")), ""};
}

std::vector<Finding> judge_libraries(const HostFacts& facts) {
  std::vector<Finding> findings;
  findings.push_back(
      {facts.ucx_ways.empty() ? Standing::Warning : Standing::Ok, "UCX",
       fmt::format("{}; {}", facts.ucx, facts.ucx_ways.empty() ? "it finds no device" : fmt::format("{}", fmt::join(facts.ucx_ways, "; "))),
       facts.ucx_ways.empty() ? "net.transport=ucx can't run here; mpi can" : ""});
  findings.push_back({facts.is_hdf5_parallel ? Standing::Ok : Standing::Missing, "HDF5",
                      facts.hdf5 + (facts.is_hdf5_parallel ? ", parallel" : ", not parallel"),
                      facts.is_hdf5_parallel ? "" : "records work; parallel files need libhdf5-openmpi-dev when building"});
  findings.push_back({Standing::Missing, "CUDA",
                      fmt::format("this program is built without it; {} NVIDIA device(s) here", facts.nvidia_devices),
                      facts.nvidia_devices > 0 ? "ranks compute on the CPU; --emulate lets them stand for an accelerator" : ""});
  return findings;
}

/// A device of the host whose address no other host has; empty if there is none.
std::string device_to_use(const HostFacts& host, const std::map<std::string, std::set<std::string>>& hosts_of_address) {
  for (const NetworkDevice& device : host.network) {
    if (device.name == "lo" || !device.is_up || !device.has_carrier) continue;
    for (const std::string& address : device.addresses) {
      if (hosts_of_address.at(address).size() == 1) return device.name;
    }
  }
  return {};
}

}  // namespace

std::vector<Finding> judge_host(const HostFacts& facts) {
  std::vector<Finding> findings = judge_libraries(facts);
  findings.push_back(judge_cores(facts));
  findings.push_back(judge_quota(facts));
  findings.push_back(judge_clock(facts));
  findings.push_back(judge_common_memory(facts));
  findings.push_back(judge_shared_memory(facts));
  findings.push_back(judge_infiniband(facts));
  for (Finding& finding : judge_network(facts)) findings.push_back(std::move(finding));
  return findings;
}

std::vector<Finding> judge_hosts(std::span<const HostFacts> hosts) {
  std::map<std::string, std::set<std::string>> hosts_of_address, places_of_address;
  for (const HostFacts& host : hosts) {
    for (const NetworkDevice& device : host.network) {
      if (device.name == "lo") continue;
      for (const std::string& address : device.addresses) {
        hosts_of_address[address].insert(host.host);
        places_of_address[address].insert(fmt::format("{} on {}", device.name, host.host));
      }
    }
  }
  std::string use;
  for (const HostFacts& host : hosts) {
    if (use.empty()) use = device_to_use(host, hosts_of_address);
  }
  std::vector<Finding> findings;
  for (const auto& [address, on] : hosts_of_address) {
    if (on.size() < 2) continue;
    const std::string advice =
        use.empty() ? "give each host an address of its own"
                    : fmt::format(
                          "messages to it may go to the sender itself: mpirun --mca btl_tcp_if_include {0} --mca oob_tcp_if_include "
                          "{0}, UCX_NET_DEVICES={0}",
                          use);
    findings.push_back(
        {Standing::Warning, "address", fmt::format("{} is {}", address, fmt::join(places_of_address[address], ", ")), advice});
  }
  return findings;
}

std::vector<Finding> merge_findings(std::span<const std::string> hosts, const std::vector<std::vector<Finding>>& of_host) {
  std::vector<Finding> merged;
  std::vector<std::vector<std::string>> holders;
  for (std::size_t h = 0; h < of_host.size(); ++h) {
    for (const Finding& finding : of_host[h]) {
      const auto found = std::ranges::find(merged, finding);
      if (found == merged.end()) {
        merged.push_back(finding);
        holders.push_back({hosts[h]});
      } else if (auto& names = holders[static_cast<std::size_t>(found - merged.begin())]; names.back() != hosts[h]) {
        names.push_back(hosts[h]);
      }
    }
  }
  for (std::size_t f = 0; f < merged.size(); ++f) {
    if (holders[f].size() < of_host.size()) merged[f].text = fmt::format("{}: {}", fmt::join(holders[f], ", "), merged[f].text);
  }
  std::ranges::stable_sort(
      merged, {}, [&](const Finding& finding) { return std::ranges::find(merged, finding.subject, &Finding::subject) - merged.begin(); });
  return merged;
}

std::string to_text(const Finding& finding) {
  constexpr std::array<std::string_view, 4> kWords{"OK", "missing", "warning", "BROKEN"};
  std::string text = fmt::format("{:<8} {:<11} {}\n", kWords[static_cast<std::size_t>(finding.standing)], finding.subject, finding.text);
  if (!finding.advice.empty()) text += fmt::format("{:<20} -> {}\n", "", finding.advice);
  return text;
}

bool is_broken(std::span<const Finding> findings) {
  return std::ranges::any_of(findings, [](const Finding& finding) { return finding.standing == Standing::Broken; });
}

}  // namespace twinax::app
