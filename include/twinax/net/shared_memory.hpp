#pragma once

namespace twinax::net {

/// Whether this process can make memory without a name that others could open by its place in /proc, which ranks of a host need.
[[nodiscard]] bool can_share_memory();

}  // namespace twinax::net
