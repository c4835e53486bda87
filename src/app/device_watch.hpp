#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/collective/collectives.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/devices.hpp"
#include "twinax/record/rows.hpp"

namespace twinax::app {

/// Looks at the network devices of all hosts before and after a run: one rank of each host does.
class DeviceWatch {
 public:
  /// Reads the counters for the first time. Not collective. Throws ConfigError if this host lacks the device that `net.device` names.
  DeviceWatch(const net::World& world, const Config& config, const collective::Group& group);

  /// Reads them again; the first member gets the devices of all hosts, the others none. Collective on `control`'s group.
  [[nodiscard]] std::vector<net::DeviceUse> finish(collective::Collectives& control) const;

 private:
  std::string host_;
  bool reads_ = false;  // this rank is the first of its host
  std::vector<net::DeviceCounters> before_;
};

/// The rows of a record.
[[nodiscard]] std::vector<record::DeviceRow> device_rows(std::span<const net::DeviceUse> devices);

/// Bytes that the ranks of one host sent to ranks of others. `sent` is [from][to][purpose], `hosts` each member's host.
[[nodiscard]] std::int64_t sent_to_other_hosts(std::span<const std::int64_t> sent, std::span<const std::string> hosts,
                                               const std::string& host);

/// Warns for each host whose bytes did not leave by the device that `net.device` says. `hosts`: each member's.
void warn_about_wires(const Config& config, std::span<const std::string> hosts, std::span<const net::DeviceUse> devices,
                      std::span<const std::int64_t> sent);

}  // namespace twinax::app
