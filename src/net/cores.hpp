#pragma once

#include "twinax/base/cores.hpp"
#include "twinax/net/bootstrap.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// What `context` says of spinning, for `ranks` that share `cores`.
inline WaitContext with_cores(WaitContext context, int ranks, int cores) {
  context.has_spare_cores = cores >= kBusyLanes * ranks;
  context.has_core_each = cores >= ranks;
  return context;
}

}  // namespace twinax::net
