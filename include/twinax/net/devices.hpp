#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::net {

/// What the kernel has counted for one network device of this host, since it was started.
struct DeviceCounters {
  std::string name;           ///< "eth0"; of InfiniBand and RoCE with the port, as UCX has it: "mlx5_0:1"
  std::int64_t received = 0;  ///< bytes
  std::int64_t sent = 0;      ///< bytes
  friend bool operator==(const DeviceCounters&, const DeviceCounters&) = default;
};

/// Reads /sys/class/net/*/statistics and /sys/class/infiniband/*/ports/*/counters, whose words of 4 bytes become bytes; by name.
/// `root` stands for /sys/class. What can't be read is left out.
[[nodiscard]] std::vector<DeviceCounters> read_device_counters(const std::string& root = "/sys/class");

/// The speed that the kernel says a network device of this host has, each direction, by /sys/class/net/*/speed (Mbit/s): of a virtual
/// device it is nominal. Null where there is none: loopback, no cable, an InfiniBand port.
[[nodiscard]] std::optional<BytesPerSecond> read_device_speed(const std::string& device, const std::string& root = "/sys/class");

/// One device over a run.
struct DeviceUse {
  std::string host;
  DeviceCounters before, after;
  /// Bytes that left by it during the run; 0 if its counters were reset.
  [[nodiscard]] std::int64_t sent() const { return after.sent > before.sent ? after.sent - before.sent : 0; }
};

/// Devices that were there before and after a run on `host`.
[[nodiscard]] std::vector<DeviceUse> devices_between(const std::string& host, std::span<const DeviceCounters> before,
                                                     std::span<const DeviceCounters> after);

/// Whether what the ranks of one host sent to other hosts (`payload` bytes) left by `device`, or by any but loopback if that is empty.
/// Null if it did, or if it was too little to tell; else one line that says where the bytes went.
[[nodiscard]] std::optional<std::string> judge_wire(std::span<const DeviceUse> devices_of_host, std::int64_t payload,
                                                    const std::string& device);

}  // namespace twinax::net
