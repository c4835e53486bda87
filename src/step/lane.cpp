#include "step/lane.hpp"

#include <utility>

#include <pthread.h>

#include "twinax/base/clock.hpp"

namespace twinax::step {

Lane::Lane(const char* name) : thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

Lane::~Lane() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  pushed_.notify_one();
  thread_.join();
}

void Lane::push(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  pushed_.notify_one();
}

void Lane::run() {
  use_precise_sleeps();
  std::unique_lock lock(mutex_);
  while (true) {
    pushed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace twinax::step
