#pragma once

#include <string>
#include <vector>

#include "twinax/base/units.hpp"

namespace twinax::net {

/// How an emulated network behaves; times and rates as they are applied (after `dilated`).
struct Profile {
  std::string name;
  BytesPerSecond rate;            ///< nominal rate of a node's NIC, each direction
  double achievable = 1;          ///< the share of `rate` that a node reaches in practice
  BytesPerSecond stream_rate{0};  ///< what one pair of ranks reaches; 0 = as the NIC
  Seconds latency{0};             ///< one way, NIC to NIC
  Seconds message_overhead{0};    ///< time the NIC is busy for each message (chunk) beyond its bytes
  Seconds message_gap{0};         ///< least time between two messages (chunks) of a NIC, during which bytes may pass
  Seconds jitter{0};              ///< mean of an exponential delay added to the latency
  double tail_probability = 0;    ///< share of messages that take `tail` longer
  Seconds tail{0};
  BytesPerSecond in_node_rate;  ///< a rank's rate to ranks of its own node
  Seconds in_node_latency{0};
  std::string source;

  /// The rate that messages are booked at: rate * achievable.
  [[nodiscard]] BytesPerSecond usable_rate() const { return rate * achievable; }
  /// The same network seen by accelerators `factor` times slower: rates divided, times multiplied by `factor`.
  [[nodiscard]] Profile dilated(double factor) const;
};

/// The catalog of networks, read from TOML. Throws ConfigError for unknown keys, bad quantities or a missing source.
[[nodiscard]] std::vector<Profile> read_profiles(const std::string& path);
/// A profile as a catalog has it; reading it back gives the same figures.
[[nodiscard]] std::string to_toml(const Profile& profile);
/// One profile by name. Throws ConfigError that names the nearest and lists all.
[[nodiscard]] Profile find_profile(const std::vector<Profile>& profiles, const std::string& name);

}  // namespace twinax::net
