#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace twinax::step {

/// A bounded pool of tokens. Threads: any.
class Credits {
 public:
  /// capacity 0 = unlimited, still counted.
  explicit Credits(std::int64_t capacity);
  /// Blocks until `amount` credits are there and takes them; false if the pool was stopped, before or while waiting. Throws
  /// InvalidArgument for more than the pool ever holds.
  bool take(std::int64_t amount);
  /// Gives credits back. Throws InvalidArgument if more come back than are out.
  void give(std::int64_t amount);
  /// Wakes all who wait, for good: their `take` returns false.
  void stop();
  /// Credits out now, and the most that ever were since the last reset.
  [[nodiscard]] std::int64_t out() const;
  [[nodiscard]] std::int64_t peak() const;
  /// The peak starts again from what is out now.
  void reset_peak();

 private:
  mutable std::mutex mutex_;  // protects all below; nothing is taken after it
  std::condition_variable given_;
  std::int64_t capacity_;
  std::int64_t out_ = 0;
  std::int64_t peak_ = 0;
  bool stopped_ = false;
};

}  // namespace twinax::step
