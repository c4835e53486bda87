#include "twinax/step/credits.hpp"

#include <algorithm>
#include <string>

#include "twinax/base/error.hpp"

namespace twinax::step {

Credits::Credits(std::int64_t capacity) : capacity_(capacity) {}

bool Credits::take(std::int64_t amount) {
  if (amount < 0 || (capacity_ != 0 && amount > capacity_)) {
    throw InvalidArgument("taking " + std::to_string(amount) + " credits from a pool that holds " + std::to_string(capacity_));
  }
  std::unique_lock lock(mutex_);
  given_.wait(lock, [&] { return stopped_ || capacity_ == 0 || out_ + amount <= capacity_; });
  if (stopped_) return false;
  out_ += amount;
  peak_ = std::max(peak_, out_);
  return true;
}

void Credits::give(std::int64_t amount) {
  {
    const std::scoped_lock lock(mutex_);
    if (amount < 0 || amount > out_) {
      throw InvalidArgument("giving " + std::to_string(amount) + " credits back to a pool that has " + std::to_string(out_) + " out");
    }
    out_ -= amount;
  }
  given_.notify_all();
}

void Credits::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  given_.notify_all();
}

std::int64_t Credits::out() const {
  const std::scoped_lock lock(mutex_);
  return out_;
}

std::int64_t Credits::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

void Credits::reset_peak() {
  const std::scoped_lock lock(mutex_);
  peak_ = out_;
}

}  // namespace twinax::step
