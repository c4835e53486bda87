#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace twinax::step {

/// A thread with an in-order queue. Threads: any may push.
class Lane {
 public:
  /// `name` is shown by debuggers and profilers; 15 letters at most.
  explicit Lane(const char* name);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  /// Ends the thread once the queue is empty.
  ~Lane();
  /// Adds work at the end of the queue; it must not throw.
  void push(std::function<void()> work);

 private:
  void run();
  std::mutex mutex_;  // protects queue_ and ending_; released while work runs
  std::condition_variable pushed_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace twinax::step
