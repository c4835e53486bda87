#pragma once

#include <string>
#include <vector>

namespace twinax::net {

/// A way that UCX has to move bytes on this host.
struct UcxDevice {
  std::string transport;  ///< "tcp", "posix", "rc_mlx5"
  std::string device;     ///< "eth0", "memory", "mlx5_0:1"
  friend bool operator==(const UcxDevice&, const UcxDevice&) = default;
};

/// All that UCX finds here, in its own order, UCX_TLS and UCX_NET_DEVICES aside. Throws UcxError.
[[nodiscard]] std::vector<UcxDevice> ucx_devices();

}  // namespace twinax::net
