#include "net/start_guard.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "twinax/base/host.hpp"

namespace twinax::net {
namespace {

/// "eth0 192.0.2.7, docker0 172.17.0.1"; loopback is left out.
std::string devices_with_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "unknown";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &freeifaddrs);
  std::string text;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || std::string_view(at->ifa_name) == "lo") continue;
    std::array<char, INET_ADDRSTRLEN> address{};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, address.data(), address.size());
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", at->ifa_name, address.data());
  }
  return text.empty() ? "none but loopback" : text;
}

}  // namespace

StartGuard::StartGuard(Seconds longest, std::function<void()> late)
    : thread_([this, longest, late = std::move(late)](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        stopped_.wait_for(lock, stop, std::chrono::duration<double>(longest.value), [] { return false; });
        if (!stop.stop_requested()) late();
      }) {}

std::string start_advice(Seconds waited) {
  return fmt::format(
      "the ranks have not found each other after {:.1f} s, longer than watchdog.seconds (10 s at least); {} has the network devices {}. A "
      "device that does "
      "not lead to the other hosts, or whose address others have too (docker0), may have been taken: name the right one by mpirun --mca "
      "btl_tcp_if_include DEVICE --mca oob_tcp_if_include DEVICE, and for ucx UCX_NET_DEVICES=DEVICE; twinax doctor under the same mpirun "
      "lists them for all hosts",
      waited.value, host_name(), devices_with_addresses());
}

}  // namespace twinax::net
