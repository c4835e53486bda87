#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "twinax/collective/collectives.hpp"
#include "twinax/net/waiter.hpp"

namespace twinax::net {
class MpiComm;
}

namespace twinax::collective {

/// Collectives by the MPI library. How it moves the bytes can't be seen from outside, so what is counted is what a known algorithm sends.
class NativeCollectives : public Collectives {
 public:
  /// Bytes sent so far: [to rank of the world][purpose]. Counted as the closed forms of traffic.hpp say: as a flat ring for gathers and for
  /// sums in fp32 and fp64, as pairwise for reductions with bf16 on the wire, as a chain for broadcasts.
  [[nodiscard]] virtual const std::vector<std::int64_t>& sent() const = 0;
};

/// Collectives through MPI's nonblocking calls, waited for like everything else: a rank that waits sleeps, and throws PeerLost once the job
/// is ending. MPI doesn't say whom an operation waits for; hang reports name the next member of the group.
///
/// Units:      with bf16 on the wire a reduction is an exchange of contributions that are summed here, in fp32 and in the group's order.
/// Collective: on the members of the group, not on the whole world; ranks are those of `world`, which outlives the result.
/// Throws:     InvalidArgument if this rank is not in the group; MpiError. Counts over 2^31 - 1 elements a piece are refused by `narrow`.
[[nodiscard]] std::unique_ptr<NativeCollectives> make_native_mpi(const net::MpiComm& world, Group group, const net::WaitContext& context);

}  // namespace twinax::collective
