#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "twinax/base/activity.hpp"
#include "twinax/base/units.hpp"

namespace twinax::net {

/// What one rank of a job is known to be doing.
struct RankState {
  int rank = 0;
  std::string host;
  long pid = 0;
  bool is_gone = false;           ///< its process is no more
  Seconds silent{0};              ///< since it last gave a sign of life
  std::array<Activity, 3> lanes;  ///< compute, collective, service
};

/// Why a job must end, or null while all is well: a rank is gone, or silent, or an operation has waited longer than `longest_wait`.
/// `hosts`: of all ranks of the job, also those that can't be seen.
[[nodiscard]] std::optional<std::string> find_trouble(std::span<const RankState> ranks, Seconds now, Seconds longest_wait,
                                                      std::span<const std::string> hosts);

/// Who waits for whom, in which operation, unit and step: a line for each busy lane.
[[nodiscard]] std::string hang_report(std::span<const RankState> ranks, Seconds now);

}  // namespace twinax::net
