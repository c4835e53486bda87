#include "net/mpi_sharing.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"
#include "twinax/net/mpi_env.hpp"

#include "net/mpi_shared_memory.hpp"

namespace twinax::net {
namespace {

constexpr Bytes kProbeSize{4096};

/// What a leader tells: where its memory is, what stands in it, and which clock it reads.
struct Invitation {
  MemoryPlace place;
  std::uint64_t clock = 0;  ///< of the time namespace, 0 if the kernel has none
  std::array<std::byte, 16> token{};
};

/// Whether /proc shows processes by the numbers that they have themselves; elsewhere a peer's number names a stranger.
bool sees_own_number() {
  std::array<char, 32> target{};
  const ssize_t length = readlink("/proc/self", target.data(), target.size() - 1);
  return length > 0 && std::string(target.data(), static_cast<std::size_t>(length)) == std::to_string(getpid());
}

std::uint64_t clock_number() {
  struct stat status {};
  return stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
}

/// Whether this process finds the leader's token in the leader's memory.
bool accept(const Invitation& invitation) {
  if (!invitation.place.is_there() || !sees_own_number() || invitation.clock != clock_number()) return false;
  try {
    const auto memory = map_place(invitation.place, kProbeSize);
    return std::memcmp(memory.get(), invitation.token.data(), invitation.token.size()) == 0;
  } catch (const SystemError&) {
    return false;
  }
}

/// One round: who reaches `leader`, the same answer on all ranks.
std::vector<bool> probe(const MpiComm& host, int leader) {
  Invitation invitation;
  SharedMemory memory;
  if (host.rank() == leader && sees_own_number()) {
    memory = make_shared_memory(kProbeSize);
    if (memory.place.is_there() && getrandom(invitation.token.data(), invitation.token.size(), 0) == std::ssize(invitation.token)) {
      std::memcpy(map_place(memory.place, kProbeSize).get(), invitation.token.data(), invitation.token.size());
      invitation.place = memory.place;
      invitation.clock = clock_number();
    }
  }
  check_mpi(MPI_Bcast(&invitation, sizeof invitation, MPI_BYTE, leader, host.get()), "telling where a rank's memory is");
  const char mine = accept(invitation) ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(host.size()));
  check_mpi(MPI_Allgather(&mine, 1, MPI_CHAR, all.data(), 1, MPI_CHAR, host.get()), "gathering who can map a rank's memory");
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<int> group_by_reach(int ranks, const std::function<std::vector<bool>(int leader)>& reach) {
  constexpr int kNone = -1;
  std::vector<int> leaders(static_cast<std::size_t>(ranks), kNone);
  for (int leader = 0; leader < ranks; ++leader) {
    if (leaders[static_cast<std::size_t>(leader)] != kNone) continue;
    const std::vector<bool> reaches = reach(leader);
    leaders[static_cast<std::size_t>(leader)] = leader;
    for (std::size_t r = 0; r < leaders.size(); ++r) {
      if (leaders[r] == kNone && reaches[r]) leaders[r] = leader;
    }
  }
  return leaders;
}

std::vector<std::string> tell_apart(std::span<const std::string> hosts, std::span<const int> node_of_rank) {
  std::map<std::string, std::vector<int>> nodes_called;
  std::vector<std::string> names;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    std::vector<int>& nodes = nodes_called[hosts[r]];
    std::size_t place = 0;
    while (place < nodes.size() && nodes[place] != node_of_rank[r]) ++place;
    if (place == nodes.size()) nodes.push_back(node_of_rank[r]);
    names.push_back(place == 0 ? hosts[r] : fmt::format("{}#{}", hosts[r], place + 1));
  }
  return names;
}

MpiComm split_by_memory(const MpiComm& host) {
  const std::vector<int> leaders = group_by_reach(host.size(), [&host](int leader) { return probe(host, leader); });
  std::map<int, std::vector<int>> nodes;
  for (std::size_t r = 0; r < leaders.size(); ++r) nodes[leaders[r]].push_back(static_cast<int>(r));
  if (nodes.size() > 1 && host.rank() == 0) {
    std::vector<std::string> texts;
    for (const auto& [leader, ranks] : nodes) texts.push_back(fmt::format("{}", fmt::join(ranks, ",")));
    log_warn(
        fmt::format("the {} ranks that MPI places on one host can't all share memory (containers?): they count as {} nodes, of the host's "
                    "ranks {}",
                    host.size(), nodes.size(), fmt::join(texts, " | ")));
  }
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(host.get(), leaders[static_cast<std::size_t>(host.rank())], host.rank(), &node),
            "splitting a host's ranks by the memory they share");
  return MpiComm(node);
}

}  // namespace twinax::net
