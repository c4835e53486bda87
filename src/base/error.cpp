#include "twinax/base/error.hpp"

#include <new>
#include <system_error>

#include <fmt/format.h>

#include "twinax/base/host.hpp"

namespace twinax {

std::string failure_text(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    return fmt::format("out of memory on {}: this process may not have more; see ulimit -v and the job's memory limit", host_name());
  }
  const auto* system = dynamic_cast<const std::system_error*>(&failure);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return fmt::format("no further thread on {}: memory or threads are at their limit; see ulimit -v, ulimit -u and the job's limits",
                       host_name());
  }
  return failure.what();
}

}  // namespace twinax
