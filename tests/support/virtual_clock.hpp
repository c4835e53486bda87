#pragma once

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <vector>

#include "twinax/base/clock.hpp"

namespace twinax::test {

/// A clock shared by threads: time stands still while any of them runs, and moves to the next deadline once all sleep. Threads: any.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(int threads) : awake_(threads) {}
  [[nodiscard]] Seconds now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void sleep_until(Seconds deadline) override {
    std::unique_lock lock(mutex_);
    if (deadline <= now_) return;
    deadlines_.push_back(deadline.value);
    --awake_;
    move_on();
    changed_.wait(lock, [&] { return deadline <= now_; });
  }
  /// A thread is at its end: it is no longer waited for.
  void leave() {
    const std::scoped_lock lock(mutex_);
    --awake_;
    move_on();
  }

 private:
  /// Wakes those whose deadline is next; with the lock held.
  void move_on() {
    if (awake_ > 0 || deadlines_.empty()) return;
    now_.value = *std::ranges::min_element(deadlines_);
    awake_ += static_cast<int>(std::erase_if(deadlines_, [&](double deadline) { return deadline <= now_.value; }));
    changed_.notify_all();
  }

  mutable std::mutex mutex_;  // protects all below; nothing is taken after it
  std::condition_variable changed_;
  Seconds now_{1000};
  int awake_;
  std::vector<double> deadlines_;
};

}  // namespace twinax::test
