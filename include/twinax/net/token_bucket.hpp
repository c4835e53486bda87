#pragma once

#include <algorithm>
#include <atomic>

#include "twinax/base/units.hpp"

namespace twinax::net {

/// A token bucket kept as its theoretical arrival time: the moment until which a link is booked. Lock-free; its memory may be shared by
/// processes, and zeroed memory is an idle bucket. Threads: any.
class TokenBucket {
 public:
  /// Books `duration` of the link, not before `earliest`; returns when it ends. Over any window w no more than w + one duration is booked,
  /// and idle time earns nothing.
  Seconds book(Seconds earliest, Seconds duration) {
    double booked = until_.load(std::memory_order_relaxed);
    double end = 0;
    do {
      end = std::max(booked, earliest.value) + duration.value;
    } while (!until_.compare_exchange_weak(booked, end, std::memory_order_acq_rel, std::memory_order_relaxed));
    return {end};
  }
  /// Until when the link is booked.
  [[nodiscard]] Seconds booked_until() const { return {until_.load(std::memory_order_acquire)}; }

 private:
  std::atomic<double> until_{0};
  static_assert(std::atomic<double>::is_always_lock_free);
};

}  // namespace twinax::net
