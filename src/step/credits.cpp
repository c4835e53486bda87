#include "twinax/step/credits.hpp"

#include <algorithm>
#include <string>

#include "twinax/base/error.hpp"

namespace twinax::step {

bool CreditCount::is_there(std::int64_t amount) const {
  if (capacity_ == 0) return true;
  return refill_ == Refill::Each ? out_ + amount <= capacity_ : taken_of_block_ + amount <= capacity_ || out_ == 0;
}

void CreditCount::take(std::int64_t amount) {
  if (taken_of_block_ + amount > capacity_) taken_of_block_ = 0;
  taken_of_block_ += amount;
  out_ += amount;
}

Credits::Credits(std::int64_t capacity, Refill refill) : count_(capacity, refill) {}

void Credits::check(std::int64_t amount) const {
  if (amount < 0 || (count_.capacity() != 0 && amount > count_.capacity())) {
    throw InvalidArgument("taking " + std::to_string(amount) + " credits from a pool that holds " + std::to_string(count_.capacity()));
  }
}

void Credits::count(std::int64_t amount) {
  count_.take(amount);
  peak_ = std::max(peak_, count_.out());
}

bool Credits::take(std::int64_t amount) {
  check(amount);
  std::unique_lock lock(mutex_);
  given_.wait(lock, [&] { return stopped_ || count_.is_there(amount); });
  if (stopped_) return false;
  count(amount);
  return true;
}

void Credits::take_now(std::int64_t amount) {
  check(amount);
  const std::scoped_lock lock(mutex_);
  if (count_.capacity() != 0 && count_.out() + amount > count_.capacity()) {
    throw InvalidArgument("an op takes " + std::to_string(amount) + " credits of a pool that has " + std::to_string(count_.out()) + " of " +
                          std::to_string(count_.capacity()) + " out");
  }
  count(amount);
}

void Credits::give(std::int64_t amount) {
  {
    const std::scoped_lock lock(mutex_);
    if (amount < 0 || amount > count_.out()) {
      throw InvalidArgument("giving " + std::to_string(amount) + " credits back to a pool that has " + std::to_string(count_.out()) +
                            " out");
    }
    count_.give(amount);
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
  return count_.out();
}

std::int64_t Credits::peak() const {
  const std::scoped_lock lock(mutex_);
  return peak_;
}

void Credits::reset_peak() {
  const std::scoped_lock lock(mutex_);
  peak_ = count_.out();
}

}  // namespace twinax::step
