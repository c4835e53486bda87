#include "support/run_loopback.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "twinax/base/clock.hpp"
#include "twinax/base/error.hpp"
#include "twinax/net/loopback.hpp"

namespace twinax::test {
namespace {

/// Keeps the first exception that tells what went wrong: PeerLost is only its echo on the other ranks.
class FirstError {
 public:
  void add(std::exception_ptr error, bool is_echo) {
    const std::scoped_lock lock(mutex_);
    if (error_ == nullptr || (is_echo_ && !is_echo)) {
      error_ = std::move(error);
      is_echo_ = is_echo;
    }
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;  // protects error_ and is_echo_; nothing is taken after it
  std::exception_ptr error_;
  bool is_echo_ = false;
};

}  // namespace

void run_loopback(int ranks, const std::function<void(net::Transport&, const net::WaitContext&)>& body) {
  SystemClock clock;
  net::LoopbackFabric fabric(ranks);
  FirstError first;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const net::WaitContext context{.clock = &clock, .ending = &fabric.ending(), .activity = nullptr, .has_spare_cores = false};
        try {
          const auto transport = fabric.attach(rank, context);
          body(*transport, context);
        } catch (const PeerLost&) {
          first.add(std::current_exception(), true);
          fabric.end();
        } catch (...) {
          first.add(std::current_exception(), false);
          fabric.end();
        }
      });
    }
  }
  first.rethrow();
}

void run_loopback(int ranks, const std::function<void(net::Transport&)>& body) {
  run_loopback(ranks, [&](net::Transport& transport, const net::WaitContext& /*context*/) { body(transport); });
}

}  // namespace twinax::test
