#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/host.hpp"
#include "twinax/base/log.hpp"
#include "twinax/net/loopback.hpp"
#include "twinax/net/transports.hpp"

#include "net/cores.hpp"
#include "net/watchdog.hpp"

namespace twinax::net {
namespace {

/// What the ranks of one process have in common.
class LoopbackJob {
 public:
  LoopbackJob(int ranks, Seconds longest_wait)
      : fabric(ranks),
        activities(static_cast<std::size_t>(ranks)),
        hosts(static_cast<std::size_t>(ranks), host_name()),
        all_ranks(static_cast<std::size_t>(ranks)),
        watchdog({.clock = &clock,
                  .longest_wait = longest_wait,
                  .beat = [] {},
                  .look = [this] { return look(); },
                  .end = [this](const std::string& text, const std::vector<RankState>& /*ranks*/) { end(text); }}) {
    std::iota(all_ranks.begin(), all_ranks.end(), 0);
  }

  /// Prints the first error of any rank, and ends the waits of all. PeerLost is only another error's echo, unless it is all there is.
  void fail(int rank, const std::exception_ptr& error) {
    std::string text = "unknown error";
    bool is_echo = false;
    try {
      std::rethrow_exception(error);
    } catch (const PeerLost& lost) {
      is_echo = true;
      text = lost.what();
    } catch (const std::exception& failure) {
      text = failure_text(failure);
    } catch (...) {
    }
    {
      const std::scoped_lock lock(mutex_);
      if (!has_failed_ && !is_echo) log_error(fmt::format("rank {}: {}", rank, text));
      if (!is_echo) has_failed_ = true;
    }
    fabric.end();
  }

  void add_code(int code) {
    const std::scoped_lock lock(mutex_);
    code_ = std::max(code_, code);
  }
  [[nodiscard]] int code() const { return code_; }

  SystemClock clock;
  LoopbackFabric fabric;
  std::vector<LaneActivities> activities;
  std::vector<std::string> hosts;
  std::vector<int> all_ranks;
  int cores = twinax::usable_cores(CoreSet::allowed().count(), quota_cores());

 private:
  [[nodiscard]] std::vector<RankState> look() const {
    std::vector<RankState> states;
    for (std::size_t r = 0; r < activities.size(); ++r) {
      RankState state{.rank = static_cast<int>(r), .host = hosts[r], .pid = getpid(), .is_gone = false, .silent = {0}, .lanes = {}};
      for (std::size_t lane = 0; lane < state.lanes.size(); ++lane) state.lanes[lane] = activities[r][lane].read();
      states.push_back(std::move(state));
    }
    return states;
  }

  /// On the watchdog's thread: a rank that does not come back from its wait is not waited for.
  void end(const std::string& text) {
    constexpr unsigned kGraceSeconds = 5;
    log_error(text);
    {
      const std::scoped_lock lock(mutex_);
      has_failed_ = true;
      code_ = EXIT_FAILURE;
    }
    alarm(kGraceSeconds);
    fabric.end();
  }

  std::mutex mutex_;  // protects the two below; the log's own lock may be taken after it
  bool has_failed_ = false;
  int code_ = EXIT_SUCCESS;
  Watchdog watchdog;  // last: it looks at all of the above
};

class LoopbackWorld final : public World {
 public:
  LoopbackWorld(LoopbackJob& job, int rank)
      : job_(job),
        rank_(rank),
        context_(with_cores(
            {.clock = &job.clock, .ending = &job.fabric.ending(), .activity = &job.activities[static_cast<std::size_t>(rank)][1]},
            job.fabric.size(), job.cores)),
        transport_(job.fabric.attach(rank, context_)) {}

  [[nodiscard]] Transport& transport() const override { return *transport_; }
  [[nodiscard]] Clock& clock() const override { return job_.clock; }
  [[nodiscard]] const WaitContext& wait_context() const override { return context_; }
  [[nodiscard]] LaneActivities& activities() const override { return job_.activities[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] const std::vector<std::string>& hosts() const override { return job_.hosts; }
  [[nodiscard]] const std::vector<int>& ranks_on_host() const override { return job_.all_ranks; }
  [[nodiscard]] int usable_cores() const override { return job_.cores; }
  [[nodiscard]] const MpiComm* mpi_comm() const override { return nullptr; }
  [[nodiscard]] std::string mpi_version() const override { return {}; }
  [[nodiscard]] std::shared_ptr<std::byte[]> share(Bytes size) override { return job_.fabric.share(rank_, size); }
  void fail(const std::exception_ptr& error) noexcept override { job_.fail(rank_, error); }

 private:
  LoopbackJob& job_;
  int rank_;
  WaitContext context_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace

int run_loopback_world(const WorldOptions& options, const std::function<int(World&)>& body) {
  LoopbackJob job(options.ranks, options.longest_wait);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < options.ranks; ++rank) {
      threads.emplace_back([&job, &body, rank] {
        try {
          LoopbackWorld world(job, rank);
          job.add_code(body(world));
        } catch (...) {
          job.add_code(EXIT_FAILURE);
          job.fail(rank, std::current_exception());
        }
      });
    }
  }
  return job.code();
}

}  // namespace twinax::net
