#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/bootstrap.hpp"

#include "net/hang_report.hpp"

namespace twinax::net {

/// Signs of life of a host's processes, in memory that they share. Threads: any.
class PeerBoard {
 public:
  /// How much zeroed memory it needs.
  [[nodiscard]] static Bytes size(int ranks_on_host);
  /// `ranks`: of this host, in the order of its slots; `mine` is this process's slot.
  PeerBoard(std::shared_ptr<std::byte[]> memory, std::vector<int> ranks, std::size_t mine, std::string host);

  /// Shows that this process lives, and what its lanes do.
  void beat(const LaneActivities& lanes, Seconds now);
  /// This process leaves in good order: its end is no trouble.
  void leave();
  /// All ranks that have shown themselves and not left.
  [[nodiscard]] std::vector<RankState> look(Seconds now) const;
  /// True for the first that asks: it alone prints.
  [[nodiscard]] bool claim_report();

 private:
  struct Slot;
  struct Layout;
  std::shared_ptr<std::byte[]> memory_;  // shared: mapped as long as anyone looks
  std::vector<int> ranks_;
  std::size_t mine_;
  std::string host_;
};

}  // namespace twinax::net
