#include "app/fit.hpp"

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {

const char* outcome_of(const Trial& trial) {
  if (!trial.out_of_memory.empty()) return "out of memory";
  return trial.retries > 0 ? "retries" : "fits";
}

Fit find_fit(std::int64_t minimum, std::int64_t maximum, const std::function<Trial(std::int64_t)>& run) {
  if (maximum < minimum) throw InvalidArgument(fmt::format("no values to fit: from {} to {}", minimum, maximum));
  Fit fit;
  const auto fits = [&](std::int64_t value) {
    fit.trials.push_back(run(value));
    return fit.trials.back().fits();
  };
  if (!fits(minimum)) return fit;
  std::int64_t most = minimum;   // fits
  std::int64_t least = maximum;  // of those above `most` that are not known to fail, the largest
  while (most < least) {
    const std::int64_t middle = least - (least - most) / 2;  // above `most`, and the maximum only if it is next to it
    if (fits(middle)) {
      most = middle;
    } else {
      least = middle - 1;
    }
  }
  fit.value = most;
  return fit;
}

}  // namespace twinax::app
