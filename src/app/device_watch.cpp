#include "app/device_watch.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"

#include "app/agreement.hpp"

namespace twinax::app {
namespace {

const std::string& host_of(const net::World& world, int rank) {
  return world.hosts()[static_cast<std::size_t>(rank)];
}

std::string to_text(std::span<const net::DeviceUse> devices) {
  std::string text;
  for (const net::DeviceUse& device : devices) {
    text += fmt::format("{} {} {} {} {} {}\n", device.host, device.before.name, device.before.received, device.before.sent,
                        device.after.received, device.after.sent);
  }
  return text;
}

void append(std::vector<net::DeviceUse>& devices, const std::string& text) {
  std::istringstream stream(text);
  net::DeviceUse device;
  while (stream >> device.host >> device.before.name >> device.before.received >> device.before.sent >> device.after.received >>
         device.after.sent) {
    device.after.name = device.before.name;
    devices.push_back(device);
  }
}

}  // namespace

DeviceWatch::DeviceWatch(const net::World& world, const Config& config, const collective::Group& group)
    : host_(host_of(world, world.rank())) {
  const auto first = std::ranges::find_if(group.ranks, [&](int rank) { return host_of(world, rank) == host_; });
  reads_ = first != group.ranks.end() && *first == world.rank();
  if (!reads_) return;
  before_ = net::read_device_counters();
  const std::string& wanted = config.text("net.device");
  if (wanted.empty() || std::ranges::find(before_, wanted, &net::DeviceCounters::name) != before_.end()) return;
  std::vector<std::string> names;
  for (const net::DeviceCounters& device : before_) names.push_back(device.name);
  throw ConfigError(fmt::format("net.device = \"{}\": {} has no such network device; it has {}", wanted, host_, fmt::join(names, ", ")));
}

std::vector<net::DeviceUse> DeviceWatch::finish(collective::Collectives& control) const {
  std::string mine;
  if (reads_) mine = to_text(net::devices_between(host_, before_, net::read_device_counters()));
  std::vector<net::DeviceUse> devices;
  for (const std::string& text : gather_texts(control, mine)) append(devices, text);
  if (control.group().index != 0) devices.clear();
  return devices;
}

std::vector<record::DeviceRow> device_rows(std::span<const net::DeviceUse> devices) {
  std::vector<record::DeviceRow> rows;
  for (const net::DeviceUse& device : devices) {
    rows.push_back({.host = device.host,
                    .device = device.before.name,
                    .received_before_bytes = device.before.received,
                    .received_after_bytes = device.after.received,
                    .sent_before_bytes = device.before.sent,
                    .sent_after_bytes = device.after.sent});
  }
  return rows;
}

std::int64_t sent_to_other_hosts(std::span<const std::int64_t> sent, std::span<const std::string> hosts, const std::string& host) {
  const std::size_t members = hosts.size();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const std::size_t pair = i / net::kPurposes.size();
    if (hosts[pair / members] == host && hosts[pair % members] != host) sum += sent[i];
  }
  return sum;
}

void warn_about_wires(const Config& config, std::span<const std::string> hosts, std::span<const net::DeviceUse> devices,
                      std::span<const std::int64_t> sent) {
  for (const std::string& host : std::set<std::string>(hosts.begin(), hosts.end())) {
    std::vector<net::DeviceUse> of_host;
    std::ranges::copy_if(devices, std::back_inserter(of_host), [&](const net::DeviceUse& device) { return device.host == host; });
    const auto trouble = net::judge_wire(of_host, sent_to_other_hosts(sent, hosts, host), config.text("net.device"));
    if (trouble) log_warn(*trouble);
  }
}

}  // namespace twinax::app
