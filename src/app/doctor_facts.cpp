#include "app/doctor_facts.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "twinax/base/cores.hpp"
#include "twinax/base/error.hpp"
#include "twinax/base/host.hpp"
#include "twinax/net/shared_memory.hpp"
#include "twinax/net/ucx_devices.hpp"
#include "twinax/net/ucx_transport.hpp"
#include "twinax/record/environment.hpp"

namespace twinax::app {
namespace {

namespace fs = std::filesystem;

constexpr unsigned long kIsUp = 1;  // IFF_UP, a part of the kernel's interface

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The addresses of this process's network namespace, by device.
std::vector<std::string> addresses_of(const std::string& device) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || device != at->ifa_name) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (at->ifa_addr->sa_family == AF_INET) address = &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
    if (at->ifa_addr->sa_family == AF_INET6) address = &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (address == nullptr || inet_ntop(at->ifa_addr->sa_family, address, text.data(), text.size()) == nullptr) continue;
    if (std::string_view(text.data()).starts_with("fe80:")) continue;  // every device has one
    addresses.emplace_back(text.data());
  }
  return addresses;
}

std::vector<NetworkDevice> read_network(const fs::path& root) {
  std::vector<NetworkDevice> devices;
  for (const fs::path& path : entries_of(root / "sys/class/net")) {
    const std::string flags = first_line(path / "flags");
    if (flags.empty()) continue;  // bonding_masters is no device
    NetworkDevice device{.name = path.filename()};
    device.is_up = (std::strtoul(flags.c_str(), nullptr, 16) & kIsUp) != 0;
    device.has_carrier = first_line(path / "carrier") == "1";
    device.is_bridge = fs::exists(path / "bridge");
    device.megabit_per_s = std::max(0L, std::atol(first_line(path / "speed").c_str()));
    device.addresses = addresses_of(device.name);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<std::string> read_infiniband(const fs::path& root) {
  std::vector<std::string> ports;
  for (const fs::path& device : entries_of(root / "sys/class/infiniband")) {
    for (const fs::path& port : entries_of(device / "ports")) {
      ports.push_back(fmt::format("{}:{} ({}, {})", device.filename().string(), port.filename().string(), first_line(port / "state"),
                                  first_line(port / "rate")));
    }
  }
  return ports;
}

std::vector<std::string> read_ucx_ways() {
  std::vector<std::string> ways, transports;
  for (const net::UcxDevice& device : net::ucx_devices()) {
    const auto found = std::ranges::find(transports, device.transport);
    if (found == transports.end()) {
      transports.push_back(device.transport);
      ways.push_back(device.transport + ": " + device.device);
    } else {
      ways[static_cast<std::size_t>(found - transports.begin())] += ", " + device.device;
    }
  }
  return ways;
}

}  // namespace

HostFacts read_host_facts(const std::string& root) {
  const fs::path base(root);
  HostFacts facts;
  facts.host = host_name();
  facts.online_cores = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  facts.allowed_cores = CoreSet::allowed().count();
  facts.quota_cores = quota_cores();
  facts.usable_cores = usable_cores(static_cast<int>(facts.allowed_cores), facts.quota_cores);
  struct statvfs shared {};
  if (statvfs((base / "dev/shm").c_str(), &shared) == 0) {
    facts.shared_memory = Bytes{static_cast<std::int64_t>(shared.f_blocks) * static_cast<std::int64_t>(shared.f_frsize)};
  }
  facts.can_share_memory = net::can_share_memory();
  facts.clock_source = first_line(base / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC, &resolution) == 0) {
    facts.clock_resolution = {static_cast<double>(resolution.tv_sec) + 1e-9 * static_cast<double>(resolution.tv_nsec)};
  }
  facts.ucx = net::ucx_version();
  try {
    facts.ucx_ways = read_ucx_ways();
  } catch (const UcxError& error) {
    facts.ucx_ways = {error.what()};
  }
  facts.hdf5 = record::this_environment().hdf5;
  facts.is_hdf5_parallel = record::is_hdf5_parallel();
  facts.nvidia_devices = std::ssize(entries_of(base / "proc/driver/nvidia/gpus"));
  facts.network = read_network(base);
  facts.infiniband = read_infiniband(base);
  return facts;
}

}  // namespace twinax::app
