#pragma once

#include <cstddef>
#include <vector>

#include "twinax/base/units.hpp"
#include "twinax/net/ucx_transport.hpp"

#include "net/ucx_handles.hpp"

namespace twinax::net {

/// UCX's context and one worker of it, with a way to sleep until something arrives. Threads: one at a time.
class UcxWorker {
 public:
  /// `peers`: how many it will talk to, at a guess; `sleeps` counts, if not null. Throws UcxError.
  UcxWorker(std::size_t peers, UcxSleeps* sleeps);

  /// The view.
  [[nodiscard]] ucp_worker_h get() const { return worker_.get(); }
  /// What others make an endpoint from.
  [[nodiscard]] std::vector<std::byte> address() const;
  /// Moves what can be moved now; whether anything was.
  bool progress() { return ucp_worker_progress(worker_.get()) != 0; }
  /// Sleeps until something happens, 50 ms at most, and moves what came. Returns false, at once, where UCX doesn't let it sleep though
  /// there is nothing to move, as over TCP as long as a peer has not accepted a connection: then the caller rests by itself.
  bool sleep();

 private:
  void count_timeout();

  UcxContext context_;
  UcxWorkerHandle worker_;
  int event_descriptor_ = -1;  // the worker's
  UcxSleeps* sleeps_;
};

}  // namespace twinax::net
