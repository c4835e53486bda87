#pragma once

#include <string>
#include <string_view>

#include <ucp/api/ucp.h>

#include "twinax/base/error.hpp"
#include "twinax/base/handle.hpp"

namespace twinax::net {

/// Throws UcxError unless `code` is UCS_OK; `doing` says what was being done, to what.
void check_ucx(ucs_status_t code, std::string_view doing, Where where = {__builtin_FILE(), __builtin_LINE()});

/// Settings without which UCX doesn't tell that a peer died, unless the user has chosen otherwise. To be called before UCX reads its
/// configuration, and best before other threads start, since it writes the environment.
void set_ucx_defaults();

/// How UCX's configuration is released.
struct UcxConfigTraits {
  using Native = ucp_config_t*;
  static Native null() noexcept { return nullptr; }
  static void close(Native config) noexcept { ucp_config_release(config); }
};

/// How a context is closed.
struct UcxContextTraits {
  using Native = ucp_context_h;
  static Native null() noexcept { return nullptr; }
  static void close(Native context) noexcept { ucp_cleanup(context); }
};

/// How a worker is closed: its endpoints are closed before.
struct UcxWorkerTraits {
  using Native = ucp_worker_h;
  static Native null() noexcept { return nullptr; }
  static void close(Native worker) noexcept { ucp_worker_destroy(worker); }
};

/// How a request is given back. One that is not complete is freed by UCX once it is: its buffer must live until then.
struct UcxRequestTraits {
  using Native = void*;
  static Native null() noexcept { return nullptr; }
  static void close(Native request) noexcept { ucp_request_free(request); }
};

using UcxConfig = Handle<UcxConfigTraits>;
using UcxContext = Handle<UcxContextTraits>;
using UcxWorkerHandle = Handle<UcxWorkerTraits>;
using UcxRequest = Handle<UcxRequestTraits>;

}  // namespace twinax::net
