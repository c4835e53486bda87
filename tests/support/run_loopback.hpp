#pragma once

#include <functional>

#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::test {

/// Runs `body` on every rank of a loopback fabric, each in a thread of its own, and returns when all have ended.
///
/// An exception of one rank ends the others' waits with PeerLost, and is rethrown here; the first that is no PeerLost wins.
void run_loopback(int ranks, const std::function<void(net::Transport&)>& body);

/// The same, with what each rank needs to wrap its transport.
void run_loopback(int ranks, const std::function<void(net::Transport&, const net::WaitContext&)>& body);

}  // namespace twinax::test
