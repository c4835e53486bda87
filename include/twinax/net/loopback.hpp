#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "twinax/base/units.hpp"
#include "twinax/net/transport.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {

/// The mailboxes of ranks that are threads of one process. Outlives the transports attached to it. Threads: any.
///
/// A message is copied once, from the sender's buffer into the receiver's, by whichever side comes second: as strict as a synchronous send,
/// so that code which works here needs no buffering anywhere. Waits are on a condition variable.
class LoopbackFabric {
 public:
  explicit LoopbackFabric(int ranks);
  LoopbackFabric(const LoopbackFabric&) = delete;
  LoopbackFabric& operator=(const LoopbackFabric&) = delete;
  ~LoopbackFabric();

  /// The number of ranks.
  [[nodiscard]] int size() const;
  /// One rank's transport. `context.ending` is replaced by the fabric's own.
  [[nodiscard]] std::unique_ptr<Transport> attach(int rank, WaitContext context);
  /// Ends the job: every wait, now and later, throws PeerLost.
  void end();
  /// Not 0 once the job is ending.
  [[nodiscard]] std::atomic<std::uint32_t>& ending();

  /// Zeroed memory that all ranks hold in common. Collective: in the same order, with the same size on all ranks; doesn't wait.
  [[nodiscard]] std::shared_ptr<std::byte[]> share(int rank, Bytes size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace twinax::net
