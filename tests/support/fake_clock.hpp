#pragma once

#include <algorithm>

#include "twinax/base/clock.hpp"

namespace twinax::test {

/// A clock that stands still unless it is told otherwise; a sleep moves it. Threads: one.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] Seconds now() const override { return now_; }
  void sleep_until(Seconds deadline) override { now_ = std::max(now_, deadline); }
  /// Moves the time on.
  void advance(Seconds by) { now_ += by; }

 private:
  Seconds now_{1000};
};

}  // namespace twinax::test
