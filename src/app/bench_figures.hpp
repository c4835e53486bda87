#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "twinax/base/dtype.hpp"
#include "twinax/base/units.hpp"
#include "twinax/net/profile.hpp"
#include "twinax/record/rows.hpp"

namespace twinax::app {

/// What `twinax bench collective` measures.
enum class BenchCollective : std::uint8_t { AllGather, ReduceScatter, AllReduce, Broadcast, Barrier };

/// The name of MPI's own collectives among the algorithms.
inline constexpr std::string_view kNativeAlgorithm = "native";

/// A collective's name on the command line and in tables; "broadcast" is from rank 0.
[[nodiscard]] std::string_view name_of(BenchCollective collective);
/// All of them, in the order of tables.
[[nodiscard]] std::span<const BenchCollective> bench_collectives();

/// What of the whole buffer each of `members` must send at least: (n-1)/n for gathers and reduce-scatters, 2(n-1)/n for all-reduces, 1 for
/// broadcasts, 0 for barriers.
[[nodiscard]] double bus_factor(BenchCollective collective, int members);

/// How many hosts there are, if all have equally many of the ranks; else 0. `hosts`: each rank's.
[[nodiscard]] int equal_hosts(std::span<const std::string> hosts);

/// Where ranks stand: consecutive ones share a node.
struct BenchPlace {
  int ranks = 1;
  int ranks_per_node = 1;
};

/// Nodes that hold these ranks.
[[nodiscard]] int nodes_of(const BenchPlace& place);

/// Whose links bus bandwidth is of, by bus_factor(): the nodes, or where there is one, its ranks. What ranks of one node give each other is
/// not on the wire, so that bus bandwidth compares with the rate of a node's link whatever the algorithm.
[[nodiscard]] int bus_members(const BenchPlace& place);

/// The least time that the collective can take on a network, by any algorithm: what must pass each node's NIC on average, and one latency.
/// `whole` is the buffer as on the wire.
[[nodiscard]] Seconds least_time(BenchCollective collective, Bytes whole, const BenchPlace& place, const net::Profile& profile);

/// The least time of a message from its send to its arrival.
[[nodiscard]] Seconds least_latency(Bytes size, bool is_in_node, const net::Profile& profile);
/// The best rate of many messages from one rank to another.
[[nodiscard]] BytesPerSecond best_rate(bool is_in_node, const net::Profile& profile);
/// The least time in which one rank can receive `each` bytes from all others at once.
[[nodiscard]] Seconds least_incast_time(Bytes each, const BenchPlace& place, const net::Profile& profile);

/// How often something that takes `once` is measured.
struct BenchPlan {
  std::int64_t iterations = 1;  ///< of which the median is taken
  std::int64_t repeats = 1;     ///< operations of an iteration, one after the other: short ones are not timed singly
};

/// As often as asked; with 0 asked, 30 times, less often (but 5 times) if that took over 3 s. An iteration takes 200 us or more.
[[nodiscard]] BenchPlan plan_of(Seconds once, std::int64_t asked_iterations);

/// How many operations go before, the first of which took `once`: as many as asked, or as take 1 s.
[[nodiscard]] std::int64_t warmup_of(Seconds once, std::int64_t asked);
/// How many messages of a size are in flight at once: as many as asked, or as take 64 MiB, or, at a network's rate, a quarter of a second.
/// `rate` is 0 where it is not known.
[[nodiscard]] std::int64_t window_of(Bytes size, std::int64_t asked, BytesPerSecond rate);

/// Element i of what a member gives to a collective that is checked: a whole number from -6 to 6, so that sums are exact in any order.
[[nodiscard]] float given_element(int member, std::size_t i);
/// Byte i of a message that is checked.
[[nodiscard]] std::byte given_byte(int from, std::size_t i);
/// Element i of the sum over all members, as it arrives: `rounded` to bf16 or not.
[[nodiscard]] float summed_element(int members, std::size_t i, Dtype rounded);
/// How many elements differ from what is expected at their place.
[[nodiscard]] std::int64_t count_wrong(std::span<const float> found, const std::function<float(std::size_t)>& expected);
[[nodiscard]] std::int64_t count_wrong(std::span<const std::byte> found, int from, std::size_t first);

/// Every pair of ranks once, in rounds; no rank is in two pairs of a round, so that the pairs of a round run at the same time.
///
/// Source: the circle method for round-robin tournaments (Kirkman 1847).
[[nodiscard]] std::vector<std::vector<std::pair<int, int>>> pair_rounds(int ranks);

/// Fills a row's figures from its measurements: the median with its interval, rates, iterations.
void set_times(record::BenchRow& row, std::span<const double> seconds_each, double bus_factor);

/// Figures of a row as tables show them: of the emulated network if one is emulated.
struct ShownTimes {
  double time_us, low_us, high_us;
  double rate_gb_per_s, bus_gb_per_s;  ///< decimal bytes
  double share_percent;                ///< of the bound; NaN if that is not known
};
[[nodiscard]] ShownTimes shown_times(const record::BenchRow& row, double dilation);

}  // namespace twinax::app
