#pragma once

#include <cstdint>

#include "twinax/net/transport.hpp"

/// Who uses which lane of a job's one transport: two users at a time need two.
namespace twinax::net::lanes {

inline constexpr std::uint8_t kStep = 1;            ///< a training step's collectives
inline constexpr std::uint8_t kTraining = 2;        ///< what ranks agree on between steps
inline constexpr std::uint8_t kSweep = 3;           ///< what ranks agree on between runs
inline constexpr std::uint8_t kControl = 4;         ///< what ranks agree on before and after a measurement
inline constexpr std::uint8_t kWorld = 5;           ///< what all ranks agree on, those included that take no part in a run
inline constexpr std::uint8_t kInNode = 6;          ///< a step's collectives in each node, where they are apart
inline constexpr std::uint8_t kAcross = 7;          ///< and between nodes
inline constexpr std::uint8_t kBench = 8;           ///< the first of as many as a benchmark has algorithms
inline constexpr std::uint8_t kActive = 0x3d;       ///< active messages, unless they are given another
inline constexpr std::uint8_t kCalibration = 0x3e;  ///< the traffic that a wire is measured by
inline constexpr std::uint8_t kBootstrap = 0x3f;    ///< the world's own: errors agreed on, barriers that sleep

inline constexpr std::uint8_t kLargest = 0x3f;  ///< that a tag has room for
inline constexpr unsigned kSequenceBits = 14;   ///< below the lane; with the lane's 6, tags stay below 2^20: every MPI has that many

/// The tag of a lane's message number `sequence`, which wraps around.
constexpr Tag tag(std::uint32_t lane, std::uint32_t sequence) {
  return {(lane << kSequenceBits) | (sequence & ((1U << kSequenceBits) - 1))};
}

}  // namespace twinax::net::lanes
