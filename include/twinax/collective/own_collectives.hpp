#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "twinax/base/activity.hpp"
#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"
#include "twinax/collective/choice.hpp"
#include "twinax/collective/collectives.hpp"

namespace twinax::collective {

/// What `collective.algorithm` may say.
inline constexpr std::array kAlgorithms{
    AlgorithmRow{"ring",
                 "partial sums travel round a ring: the fewest bytes into each node; with bf16 on the wire, pairwise is used instead"},
    AlgorithmRow{
        "pairwise",
        "every contribution goes straight to where it is summed: no rounding of sums, one step, more bytes into a node of several ranks"}};

/// How the own collectives work.
struct OwnOptions {
  std::uint8_t lane = 1;             ///< a part of every tag: two objects on one transport need two lanes
  std::string algorithm = "ring";    ///< of reductions, a name of kAlgorithms
  Bytes segment = {1 << 20};         ///< messages are cut into pieces of this size, so that summing overlaps the wire
  ActivitySlot* activity = nullptr;  ///< told what is waited for, by `clock`
  Clock* clock = nullptr;
};

/// Collectives by this project's algorithms over any transport. The transport outlives them.
///
/// Throws:     InvalidArgument if this rank is not in the group, or for an unknown algorithm.
[[nodiscard]] std::unique_ptr<Collectives> make_own(net::Transport& transport, Group group, const OwnOptions& options);

}  // namespace twinax::collective
