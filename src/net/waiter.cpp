#include "twinax/net/waiter.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <sched.h>

#include "twinax/base/cores.hpp"
#include "twinax/base/error.hpp"

namespace twinax::net {
namespace {

constexpr int kSpinsWithSpareCores = 2000;
constexpr int kSpins = 20;
constexpr int kYields = 200;
constexpr int kWaitsWithoutYields = 256;
constexpr Seconds kCheapYield{100e-6};
constexpr Seconds kShortestPause{20e-6};
constexpr Seconds kLongestPause{200e-6};
constexpr Seconds kLateAfter{0.1};
constexpr double kLatePauseShare = 0.01;  // of the wait so far
constexpr Seconds kLongestLatePause{5e-3};
constexpr Seconds kLongestSleep{0.05};

/// Timer slack belongs to a thread: set at its first sleep.
void make_sleeps_precise() {
  static thread_local const bool is_set = (use_precise_sleeps(), true);
  static_cast<void>(is_set);
}

std::string_view text_of(const Activity& activity) {
  return activity.op.data();
}

}  // namespace

Wait::~Wait() {
  if (!is_shown_) return;
  const WaitContext& context = waiter_.context_;
  context.activity->wait_for(text_of(context.activity->read()), -1, context.clock->now());
}

void Wait::check_ending() const {
  const auto* const ending = waiter_.context_.ending;
  if (ending == nullptr || ending->load(std::memory_order_acquire) == 0) return;
  throw PeerLost(peer_ < 0 ? std::string("the job is ending because a rank failed")
                           : "waiting for rank " + std::to_string(peer_) + ": the job is ending because a rank failed");
}

void Wait::before_sleep() {
  check_ending();
  const WaitContext& context = waiter_.context_;
  if (is_shown_ || context.activity == nullptr || peer_ < 0) return;
  context.activity->wait_for(text_of(context.activity->read()), peer_, context.clock->now());
  is_shown_ = true;
}

bool Wait::spin_or_yield() {
  const int spins = waiter_.context_.has_spare_cores ? kSpinsWithSpareCores : kSpins;
  ++polls_;
  if (polls_ <= spins) {
    relax_core();
    return true;
  }
  if (polls_ > spins + kYields) return false;
  if (waiter_.yields_to_skip_ > 0) {
    if (polls_ == spins + 1) --waiter_.yields_to_skip_;
    return false;
  }
  const Seconds before = waiter_.context_.clock->now();
  sched_yield();
  // A yield to a thread that computes lasts its whole time slice, while a sleeper is woken in between: such waits sleep for a while.
  if (waiter_.context_.clock->now() - before > kCheapYield) waiter_.yields_to_skip_ = kWaitsWithoutYields;
  return true;
}

bool Wait::rest_awake() {
  check_ending();
  return spin_or_yield();
}

void Wait::rest_until(Seconds deadline) {
  check_ending();
  if (spin_or_yield()) return;
  before_sleep();
  make_sleeps_precise();
  Clock& clock = *waiter_.context_.clock;
  const Seconds now = clock.now();
  if (pause_ == Seconds{0}) {
    pause_ = kShortestPause;
    began_ = now;
  }
  clock.sleep_until(std::min(deadline, now + pause_));
  const Seconds waited = now - began_;
  pause_ = std::min(pause_ * 1.5, waited > kLateAfter ? std::min(waited * kLatePauseShare, kLongestLatePause) : kLongestPause);
}

void Wait::sleep_until(Seconds deadline) {
  before_sleep();
  make_sleeps_precise();
  Clock& clock = *waiter_.context_.clock;
  clock.sleep_until(std::min(deadline, clock.now() + kLongestSleep));
}

}  // namespace twinax::net
