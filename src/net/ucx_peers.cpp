#include "net/ucx_peers.hpp"

#include <utility>

#include <fmt/format.h>

#include "twinax/base/log.hpp"

namespace twinax::net {

UcxPeers::UcxPeers(ucp_worker_h worker, int rank, std::vector<std::vector<std::byte>> addresses, std::vector<std::string> hosts)
    : worker_(worker), rank_(rank), addresses_(std::move(addresses)), hosts_(std::move(hosts)), peers_(addresses_.size()) {
  if (hosts_.size() != addresses_.size()) {
    throw InvalidArgument(fmt::format("{} ranks have {} hosts", addresses_.size(), hosts_.size()));
  }
}

ucp_ep_h UcxPeers::endpoint(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost != UCS_OK) throw_lost(rank);
  if (peer.endpoint != nullptr) return peer.endpoint;
  ucp_ep_params_t wanted{};
  wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  wanted.address = reinterpret_cast<const ucp_address_t*>(addresses_[static_cast<std::size_t>(rank)].data());
  if (rank != rank_) {  // a process outlives its endpoint to itself; that one has no error handling
    wanted.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    wanted.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    wanted.err_handler = {.cb = &UcxPeers::on_error, .arg = &peer};
  }
  const ucs_status_t code = ucp_ep_create(worker_, &wanted, &peer.endpoint);
  if (code == UCS_ERR_UNREACHABLE) {
    throw UcxError(code, fmt::format("connecting to rank {} on {}: UCX has no transport that both ranks can use; see UCX_TLS and "
                                     "UCX_NET_DEVICES (UCX_LOG_LEVEL=info says what it tries)",
                                     rank, hosts_[static_cast<std::size_t>(rank)]));
  }
  if (code != UCS_OK) fail(rank, code, "connecting to");
  return peer.endpoint;
}

void UcxPeers::on_error(void* peer, ucp_ep_h /*endpoint*/, ucs_status_t code) noexcept {
  static_cast<Peer*>(peer)->lost = code;
}

void UcxPeers::throw_lost(int rank) const {
  throw PeerLost(
      fmt::format("rank {} on {} is lost: {}", rank, hosts_[static_cast<std::size_t>(rank)], ucs_status_string(peer(rank).lost)));
}

void UcxPeers::fail(int rank, ucs_status_t code, std::string_view doing) const {
  check(rank);
  const bool is_lost =
      code == UCS_ERR_CONNECTION_RESET || code == UCS_ERR_ENDPOINT_TIMEOUT || code == UCS_ERR_NOT_CONNECTED || code == UCS_ERR_UNREACHABLE;
  const std::string text =
      fmt::format("{} rank {} on {}: {}", doing, rank, hosts_[static_cast<std::size_t>(rank)], ucs_status_string(code));
  if (is_lost) throw PeerLost(text);
  throw UcxError(code, text);
}

UcxRequest UcxPeers::close_endpoint(int rank, bool is_forced) noexcept {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = rank != rank_ && (is_forced || peer.lost != UCS_OK) ? UCP_EP_CLOSE_FLAG_FORCE : 0;  // only with error handling
  ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &how);
  if (!UCS_PTR_IS_ERR(request)) return UcxRequest(request);
  if (peer.lost == UCS_OK) log_error(fmt::format("closing the endpoint to rank {}: {}", rank, ucs_status_string(UCS_PTR_STATUS(request))));
  return {};
}

void UcxPeers::abandon(int rank) noexcept {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.endpoint == nullptr || rank == rank_) return;
  const UcxRequest closing = close_endpoint(rank, true);  // UCX frees it when it is complete
  if (peer.lost == UCS_OK) peer.lost = UCS_ERR_CANCELED;
}

std::vector<UcxRequest> UcxPeers::close(bool is_forced) noexcept {
  std::vector<UcxRequest> closing;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    if (peers_[r].endpoint == nullptr) continue;
    UcxRequest request = close_endpoint(static_cast<int>(r), is_forced);
    if (request.is_open()) closing.push_back(std::move(request));
  }
  return closing;
}

}  // namespace twinax::net
