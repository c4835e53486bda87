#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "twinax/base/config.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/bootstrap.hpp"

#include "app/emulation.hpp"

namespace twinax::app {

/// Where a run's progress is shown; called on rank 0 only.
class RunObserver {
 public:
  RunObserver() = default;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;
  virtual ~RunObserver() = default;
  /// A training step is over.
  virtual void on_step(std::int64_t step, std::int64_t steps, double loss, Seconds duration) = 0;
  /// The held-out part was evaluated.
  virtual void on_evaluation(std::int64_t step, double bits_per_token) = 0;
};

/// One run to make.
struct RunRequest {
  Config config;
  std::string command;                 ///< as typed
  int ranks = 0;                       ///< the world's first ranks take part; 0 = all
  std::optional<Emulation> emulation;  ///< fixed by a sweep; measured if there is none
  std::string choices;                 ///< as a record holds them: of matrix product backends (none = by timing) and collectives
  std::string dump, trace;             ///< files, empty = none
  // What a sweep writes into the record.
  std::string point;  ///< TOML text of axis values
  std::int64_t repeat = -1;
  std::int64_t warmup_steps = 0;
  int measurements = 5;         ///< of the computing alone, of which the median counts
  bool replaces_record = true;  ///< whether an existing record at record.path may be replaced
};

/// What a run did, on rank 0 (other ranks have the emulation only).
struct RunSummary {
  Emulation emulation;
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  double loss = 0;            ///< of the last step, nats a token
  double bits_per_token = 0;  ///< of the last evaluation; NaN if there was none
  double bits_per_byte = 0;   ///< the same for each byte of the text that its targets stand for
  Seconds median_step{0};
  std::int64_t allocator_retries = 0;  ///< over all ranks, in steps that count and in evaluations
  std::string stands_for;
  Scale scale;                ///< of what is stood for
  std::string choices;        ///< as agreed
  std::string out_of_budget;  ///< on all ranks that took part: why the run ended before its last step; empty if it didn't
};

/// Trains as the request says. Collective on the world: ranks that do not take part sleep until it is over. Where a rank's memory budget
/// doesn't hold what it begins with, all throw AgreedOutOfBudget; where it doesn't hold a step, the run ends and says so. The world can be
/// used further.
RunSummary run_training(net::World& world, const RunRequest& request, RunObserver* observer);

/// The rate at which the ranks compute the request's model, all at once and without communication: the median over those that take part.
/// Collective.
[[nodiscard]] FlopsPerSecond measure_rate(net::World& world, const RunRequest& request);

}  // namespace twinax::app
