#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "twinax/net/counted.hpp"
#include "twinax/net/nic.hpp"
#include "twinax/net/shaped.hpp"
#include "twinax/net/transport.hpp"

/// The wrappers that contracts are kept under, as rows name them: bare, shaped, counted.
namespace twinax::net {

/// What a test does on each rank.
using RankBody = std::function<void(Transport&)>;

/// A network so fast that it only orders and cuts.
inline Profile fast_profile() {
  Profile profile;
  profile.name = "fast";
  profile.rate = gbit_per_s(8);
  profile.latency = {20e-6};
  profile.in_node_rate = gbit_per_s(8);
  profile.source = "test";
  return profile;
}

/// The transport that a row names, over a bare one.
inline void with_wrapping(const std::string& wrapping, Transport& bare, const WaitContext& context, std::shared_ptr<std::byte[]> board,
                          const RankBody& body) {
  if (wrapping == "counted") {
    CountedTransport counted(bare);
    body(counted);
  } else if (wrapping == "shaped") {
    const auto shaped =
        make_shaped(bare, context, {.profile = fast_profile(), .chunk = {4096}}, NicBoard(std::move(board), bare.size(), 2));
    body(*shaped);
  } else {
    body(bare);
  }
}

}  // namespace twinax::net
