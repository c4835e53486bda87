#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// Messages from one rank to another.
struct CalibrationFlow {
  int from = 0;
  int to = 0;
  friend bool operator==(const CalibrationFlow&, const CalibrationFlow&) = default;
};

/// What is measured, between which ranks.
struct CalibrationPlan {
  CalibrationFlow pair;                  ///< of two nodes: latency and the rate of one stream; `pair.from` leads
  std::vector<CalibrationFlow> flows;    ///< all of them at once: the rate of a node's NIC, out of the node of `pair.from`
  std::vector<CalibrationFlow> in_node;  ///< one flow inside the node of `pair.from`, or none
  /// Whether a rank has any part in it.
  [[nodiscard]] bool includes(int rank) const;
};

/// Chooses flows between nodes. `node_of`: each rank's node. The pair is the given one, or rank 0 and the first rank of another node (the
/// first other rank if there is one node). Throws InvalidArgument for one rank, or a pair that is none.
[[nodiscard]] CalibrationPlan plan_calibration(std::span<const int> node_of, const CalibrationFlow* given);

/// How long is measured.
struct CalibrationOptions {
  int pings = 10'000;        ///< round trips
  Seconds longest_pings{5};  ///< after which no more are made
  Seconds burst{0.2};        ///< about what one burst of messages lasts
  int repeats = 5;           ///< of bursts; the median counts
  Bytes small{8};            ///< a small message
  Bytes middle{64 << 10};    ///< between them, where a message's bytes should take longer than its handling
  Bytes large{256 << 10};    ///< a large one: what messages are cut into, so that figures hold for shaping
  Seconds poll{0};           ///< how long a rank sleeps between two looks; 0: it yields
};

/// Times of one wire.
struct WireFigures {
  std::vector<double> round_trips_s;  ///< of small messages, in ascending order
  Seconds small_message{0};           ///< what a small message adds to a stream of them
  Seconds middle_message{0};          ///< the same for one between
  Seconds large_message{0};           ///< and for a large one
};

/// What was measured; complete on the rank that leads.
struct Calibration {
  WireFigures pair, in_node;  ///< in_node is empty where no node has two ranks
  Seconds small_of_all{0};    ///< what a small message adds when all flows send at once
  Seconds middle_of_all{0};
  Seconds large_of_all{0};
  int flows = 1;
};

/// Measures the wire. Collective on the ranks of the plan; they look without sleeping (unless `poll` says so). Nothing else is sent
/// meanwhile. Tags are those of lanes::kCalibration.
[[nodiscard]] Calibration calibrate(Transport& transport, const WaitContext& context, const CalibrationPlan& plan,
                                    const CalibrationOptions& options);

/// The profile whose shaping gives such times: a message takes the longer of gap and overhead + bytes / rate, one way is latency + an
/// exponential jitter + rarely a tail. Figures have four digits. Without in-node figures, in-node is as the network.
[[nodiscard]] Profile fit_profile(const Calibration& measured, const CalibrationOptions& options);

/// The value below which a share of ascending values lies.
[[nodiscard]] double quantile(std::span<const double> ascending, double share);

}  // namespace twinax::net
