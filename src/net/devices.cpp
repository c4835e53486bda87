#include "twinax/net/devices.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/host.hpp"
#include "twinax/base/units_text.hpp"

namespace twinax::net {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastPayload = 1 << 20;  // below it, other traffic of the host could be taken for the run's
constexpr double kLeastShare = 0.9;              // of the payload, that must have left by the device: headers come on top
constexpr std::int64_t kWordBytes = 4;           // what port_xmit_data counts

std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

void add(std::vector<DeviceCounters>& devices, const std::string& name, const fs::path& received, const fs::path& sent, std::int64_t unit) {
  const auto in = read_number(received);
  const auto out = read_number(sent);
  if (in && out) devices.push_back({.name = name, .received = *in * unit, .sent = *out * unit});
}

std::string passed(const DeviceUse& device) {
  return fmt::format("{} {}", device.after.name, for_people(Bytes{device.sent()}));
}

}  // namespace

std::vector<DeviceCounters> read_device_counters(const std::string& root) {
  std::vector<DeviceCounters> devices;
  for (const fs::path& device : entries_of(fs::path(root) / "net")) {
    add(devices, device.filename(), device / "statistics/rx_bytes", device / "statistics/tx_bytes", 1);
  }
  for (const fs::path& device : entries_of(fs::path(root) / "infiniband")) {
    for (const fs::path& port : entries_of(device / "ports")) {
      add(devices, device.filename().string() + ":" + port.filename().string(), port / "counters/port_rcv_data",
          port / "counters/port_xmit_data", kWordBytes);
    }
  }
  std::ranges::sort(devices, {}, &DeviceCounters::name);
  return devices;
}

std::vector<DeviceUse> devices_between(const std::string& host, std::span<const DeviceCounters> before,
                                       std::span<const DeviceCounters> after) {
  std::vector<DeviceUse> devices;
  for (const DeviceCounters& then : before) {
    const auto now = std::ranges::find(after, then.name, &DeviceCounters::name);
    if (now != after.end()) devices.push_back({.host = host, .before = then, .after = *now});
  }
  return devices;
}

std::optional<std::string> judge_wire(std::span<const DeviceUse> devices_of_host, std::int64_t payload, const std::string& device) {
  if (payload < kLeastPayload || devices_of_host.empty()) return std::nullopt;
  std::int64_t expected = 0;
  std::vector<std::string> all;
  for (const DeviceUse& use : devices_of_host) {
    const bool counts = device.empty() ? use.after.name != "lo" : use.after.name == device;
    if (counts) expected += use.sent();
    all.push_back(passed(use));
  }
  if (static_cast<double>(expected) >= kLeastShare * static_cast<double>(payload)) return std::nullopt;
  return fmt::format("{}: {} went to other hosts, but {} sent {}; during the run its devices sent: {}. {}", devices_of_host[0].host,
                     for_people(Bytes{payload}), device.empty() ? "all devices but loopback" : device, for_people(Bytes{expected}),
                     fmt::join(all, ", "),
                     device.empty() ? "The bytes took a way that the kernel doesn't count, or never left the machine"
                                    : "See UCX_NET_DEVICES (ucx), --mca btl_tcp_if_include (mpi), or net.device");
}

}  // namespace twinax::net
