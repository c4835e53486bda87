#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "twinax/base/units.hpp"

#include "net/ucx_handles.hpp"

namespace twinax::net {

/// The endpoints of one worker, one for each rank it talks to, and what UCX has said about those ranks. Threads: the worker's.
class UcxPeers {
 public:
  /// `addresses` and `hosts` of all ranks, in rank order.
  UcxPeers(ucp_worker_h worker, int rank, std::vector<std::vector<std::byte>> addresses, std::vector<std::string> hosts);
  UcxPeers(const UcxPeers&) = delete;
  UcxPeers& operator=(const UcxPeers&) = delete;

  /// The endpoint to a rank, made at the first use. Throws PeerLost if that rank is lost, UcxError if there is no way to it.
  [[nodiscard]] ucp_ep_h endpoint(int rank);
  /// Throws PeerLost if the rank is lost.
  void check(int rank) const {
    if (peer(rank).lost != UCS_OK) throw_lost(rank);
  }
  /// The error of an operation with a rank: PeerLost, or UcxError where it has other reasons.
  [[noreturn]] void fail(int rank, ucs_status_t code, std::string_view doing) const;
  /// Gives a rank up: what is in flight to it is completed with an error.
  void abandon(int rank) noexcept;
  /// Starts to close all endpoints, those of lost ranks by force; the requests are to be progressed until they are done.
  [[nodiscard]] std::vector<UcxRequest> close(bool is_forced) noexcept;

 private:
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    ucs_status_t lost = UCS_OK;
  };
  [[nodiscard]] const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  [[noreturn]] void throw_lost(int rank) const;
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t code) noexcept;
  [[nodiscard]] UcxRequest close_endpoint(int rank, bool is_forced) noexcept;

  ucp_worker_h worker_;
  int rank_;
  std::vector<std::vector<std::byte>> addresses_;
  std::vector<std::string> hosts_;
  std::vector<Peer> peers_;  // never grows: UCX keeps pointers to its elements
};

}  // namespace twinax::net
