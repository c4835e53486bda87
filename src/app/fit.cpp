#include "app/fit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "twinax/base/error.hpp"

namespace twinax::app {

const char* outcome_of(const Trial& trial) {
  if (!trial.out_of_memory.empty()) return "out of memory";
  return trial.retries > 0 ? "retries" : "fits";
}

Fit find_fit(const FitRange& range, const std::function<Trial(std::int64_t)>& run) {
  if (range.maximum < range.minimum) {
    throw InvalidArgument(fmt::format("no values to fit: from {} to {}", range.minimum, range.maximum));
  }
  Fit fit;
  std::int64_t most = range.minimum - 1;  // the largest that is known to fit
  std::int64_t least = range.maximum;     // of those above it that are not known to fail, the largest
  const auto fits = [&](std::int64_t value) {
    fit.trials.push_back(run(value));
    const bool does = fit.trials.back().fits();
    if (does) most = value;
    if (!does) least = value - 1;
    return does;
  };
  if (!fits(range.minimum)) return fit;
  const auto allowed = [&] { return static_cast<std::int64_t>(range.precision * static_cast<double>(most)); };
  if (range.guess && *range.guess > most && *range.guess <= least && fits(*range.guess) && most < least) {
    fits(std::min(least, most + 1 + allowed()));  // if it fails, what is left open is within the precision
  }
  while (least - most > allowed()) {
    fits(least - (least - most) / 2);  // above `most`, and the last only if it is next to it
  }
  fit.value = most;
  return fit;
}

}  // namespace twinax::app
