#include "net/ucx_handles.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <ucs/config/global_opts.h>

#include "twinax/net/ucx_transport.hpp"

namespace twinax::net {

void check_ucx(ucs_status_t code, std::string_view doing, Where where) {
  if (code == UCS_OK) return;
  throw UcxError(code, fmt::format("{}: {} ({}:{})", doing, ucs_status_string(code), where.file, where.line));
}

void set_ucx_defaults() {
  constexpr bool kOverwrites = false;
  constexpr std::array<std::pair<const char*, const char*>, 4> kDefaults{{
      {"UCX_KEEPALIVE_INTERVAL", "1s"},   // 20 s otherwise
      {"UCX_POSIX_ERROR_HANDLING", "y"},  // without it shared memory is not used by endpoints that are to report a peer's death
      {"UCX_SYSV_ERROR_HANDLING", "y"},
      // Else large messages are copied twice. What UCX can't take back is that a receiver given up may still read the sender's buffer:
      // it alone gets wrong bytes, and it is no longer part of the job.
      {"UCX_CMA_MEMORY_INVALIDATE", "y"},
  }};
  for (const auto& [name, value] : kDefaults) setenv(name, value, kOverwrites);
  // Those of transports that UCX doesn't use here are no mistake; UCX has read its variable for this before main().
  if (std::getenv("UCX_WARN_UNUSED_ENV_VARS") == nullptr) ucs_global_opts.warn_unused_env_vars = 0;
}

std::string ucx_version() {
  return ucp_get_version_string();
}

}  // namespace twinax::net
