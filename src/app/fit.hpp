#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace twinax::app {

/// What came of a run with one value of the key that is to fit.
struct Trial {
  std::int64_t value = 0;
  std::int64_t retries = 0;   ///< of the allocator, over all ranks and steps
  std::string out_of_memory;  ///< why the budget did not hold it; empty if it did
  /// Whether it ran within its memory without having to wait for some.
  [[nodiscard]] bool fits() const { return out_of_memory.empty() && retries == 0; }
};

/// "fits", "retries" or "out of memory", as the index of a sweep has it.
[[nodiscard]] const char* outcome_of(const Trial& trial);

/// The largest value that fits, and what was tried for it, in order.
struct Fit {
  std::optional<std::int64_t> value;  ///< none if not even the minimum fits
  std::vector<Trial> trials;
};

/// Where the largest value that fits is looked for.
struct FitRange {
  std::int64_t minimum = 1;
  std::int64_t maximum = 1;
  double precision = 0;  ///< it is enough to know it to this share of itself
  std::optional<std::int64_t>
      guess{};  ///< what it may well be: tried first, with the value after it (or as far from it as the precision allows)
};

/// Finds the largest value of the range that fits, if all values below one that fits do: the minimum first, then the guess, then by
/// bisection, in at most 2 + log2(maximum - minimum) trials, and 2 for a guess that was wrong. The maximum is tried only if all before it
/// fit, or if it was guessed. Throws InvalidArgument for a maximum below the minimum; what `run` throws goes through.
[[nodiscard]] Fit find_fit(const FitRange& range, const std::function<Trial(std::int64_t)>& run);

}  // namespace twinax::app
