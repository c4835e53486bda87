#include "net/ucx_worker.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <poll.h>

namespace twinax::net {
namespace {

constexpr long kLongestSleepNs = 50'000'000;
constexpr long kLateEventNs = 20'000'000;

UcxContext make_context(std::size_t peers) {
  set_ucx_defaults();
  ucp_config_t* read = nullptr;
  check_ucx(ucp_config_read(nullptr, nullptr, &read), "reading the configuration of UCX from the environment");
  const UcxConfig config(read);
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  wanted.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  wanted.estimated_num_eps = peers;
  wanted.name = "twinax";
  ucp_context_h context = nullptr;
  check_ucx(ucp_init(&wanted, config.get(), &context),
            "starting UCX (UCX_TLS and UCX_NET_DEVICES choose its transports; UCX_LOG_LEVEL=info says more)");
  return UcxContext(context);
}

UcxWorkerHandle make_worker(ucp_context_h context) {
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  check_ucx(ucp_worker_create(context, &wanted, &worker), "making a worker of UCX");
  return UcxWorkerHandle(worker);
}

/// Whether the descriptor becomes readable within `ns` nanoseconds. A signal ends the wait as well.
bool wait_readable(int descriptor, long ns) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  const timespec longest{.tv_sec = 0, .tv_nsec = ns};
  const int ready = ppoll(&watched, 1, &longest, nullptr);
  if (ready < 0 && errno != EINTR) throw SystemError(errno, fmt::format("sleeping until a message arrives: {}", std::strerror(errno)));
  return ready != 0;
}

}  // namespace

UcxWorker::UcxWorker(std::size_t peers, UcxSleeps* sleeps)
    : context_(make_context(peers)), worker_(make_worker(context_.get())), sleeps_(sleeps) {
  check_ucx(ucp_worker_get_efd(worker_.get(), &event_descriptor_), "asking UCX what to sleep on");
}

std::vector<std::byte> UcxWorker::address() const {
  ucp_address_t* bytes = nullptr;
  std::size_t length = 0;
  check_ucx(ucp_worker_get_address(worker_.get(), &bytes, &length), "asking a worker of UCX for its address");
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
  std::vector<std::byte> copy(begin, begin + length);
  ucp_worker_release_address(worker_.get(), bytes);
  return copy;
}

bool UcxWorker::sleep() {
  constexpr int kAttempts = 4;  // arming first takes the signals of earlier messages, one or two at a time, and says that it is busy
  ucs_status_t armed = UCS_ERR_BUSY;
  for (int i = 0; armed == UCS_ERR_BUSY; ++i) {
    if (i == kAttempts) return false;
    armed = ucp_worker_arm(worker_.get());
    if (armed == UCS_ERR_BUSY && progress()) return true;  // something came in between
  }
  check_ucx(armed, "arming the events of UCX");
  const bool is_woken = wait_readable(event_descriptor_, kLongestSleepNs);
  if (sleeps_ != nullptr) ++sleeps_->sleeps;
  if (is_woken) return progress();
  if (sleeps_ != nullptr) count_timeout();
  return true;
}

/// A sleep that ended by its time-out, with work there that no event has announced, has slept through a wake-up.
void UcxWorker::count_timeout() {
  ++sleeps_->timeouts;
  if (!progress()) return;
  if (!wait_readable(event_descriptor_, kLateEventNs)) ++sleeps_->lost_wakeups;  // else it came just now
}

}  // namespace twinax::net
