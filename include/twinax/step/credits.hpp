#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace twinax::step {

/// When a pool that has been emptied serves again.
enum class Refill : std::uint8_t {
  Each,  ///< as credits come back
  All    ///< when all are back: credits are taken in blocks of the pool's capacity
};

/// How many credits of a pool are out, and whether more are there: the rule by which pools serve, without waiting. Threads: one at a time.
class CreditCount {
 public:
  /// capacity 0 = unlimited, still counted.
  explicit CreditCount(std::int64_t capacity, Refill refill = Refill::Each) : capacity_(capacity), refill_(refill) {}
  /// Whether `amount` can be taken now.
  [[nodiscard]] bool is_there(std::int64_t amount) const;
  /// Counts credits taken, and credits given back.
  void take(std::int64_t amount);
  void give(std::int64_t amount) { out_ -= amount; }
  /// Credits out now.
  [[nodiscard]] std::int64_t out() const { return out_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }

 private:
  std::int64_t capacity_;
  Refill refill_;
  std::int64_t taken_of_block_ = 0;
  std::int64_t out_ = 0;
};

/// A bounded pool of tokens. Threads: any.
class Credits {
 public:
  /// capacity 0 = unlimited, still counted.
  explicit Credits(std::int64_t capacity, Refill refill = Refill::Each);
  /// Blocks until `amount` credits are there and takes them; false if the pool was stopped, before or while waiting. Throws
  /// InvalidArgument for more than the pool ever holds.
  bool take(std::int64_t amount);
  /// Takes credits that are there by the order of ops. Throws InvalidArgument if they are not.
  void take_now(std::int64_t amount);
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
  void check(std::int64_t amount) const;
  void count(std::int64_t amount);
  mutable std::mutex mutex_;  // protects all below; nothing is taken after it
  std::condition_variable given_;
  CreditCount count_;
  std::int64_t peak_ = 0;
  bool stopped_ = false;
};

}  // namespace twinax::step
