#include "net/peer_board.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace twinax::net {
namespace {

/// Whether a process is no more, or only waits for its parent to notice.
bool is_gone(long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t state = text.rfind(") ");
  if (state == std::string::npos) return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
  return text[state + 2] == 'Z' || text[state + 2] == 'X';
}

}  // namespace

/// An odd `sequence` says that the lanes are being written. The words are atomics, since readers look at any time.
struct PeerBoard::Slot {
  static constexpr std::size_t kWords = (sizeof(std::array<Activity, 3>) + 7) / 8;
  std::atomic<std::int64_t> pid;
  std::atomic<std::int64_t> has_left;
  std::atomic<double> beat_s;
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kWords> lanes;
};

struct PeerBoard::Layout {
  std::atomic<std::int64_t> is_claimed;
  Slot slots[1];  // as many as there are ranks
  static Layout& in(const std::shared_ptr<std::byte[]>& memory) { return *reinterpret_cast<Layout*>(memory.get()); }
};

Bytes PeerBoard::size(int ranks_on_host) {
  return Bytes{static_cast<std::int64_t>(sizeof(Layout)) + (ranks_on_host - 1) * static_cast<std::int64_t>(sizeof(Slot))};
}

PeerBoard::PeerBoard(std::shared_ptr<std::byte[]> memory, std::vector<int> ranks, std::size_t mine, std::string host)
    : memory_(std::move(memory)), ranks_(std::move(ranks)), mine_(mine), host_(std::move(host)) {}

void PeerBoard::beat(const LaneActivities& lanes, Seconds now) {
  Slot& slot = Layout::in(memory_).slots[mine_];
  std::array<Activity, 3> copies;
  for (std::size_t lane = 0; lane < copies.size(); ++lane) copies[lane] = lanes[lane].read();
  std::array<std::uint64_t, Slot::kWords> words{};
  std::memcpy(words.data(), copies.data(), sizeof copies);
  slot.sequence.fetch_add(1);
  for (std::size_t w = 0; w < words.size(); ++w) slot.lanes[w].store(words[w]);
  slot.sequence.fetch_add(1);
  slot.beat_s.store(now.value);
  slot.pid.store(getpid());
}

void PeerBoard::leave() {
  Layout::in(memory_).slots[mine_].has_left.store(1);
}

std::vector<RankState> PeerBoard::look(Seconds now) const {
  std::vector<RankState> states;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Slot& slot = Layout::in(memory_).slots[r];
    const std::int64_t pid = slot.pid.load();
    if (pid == 0 || slot.has_left.load() != 0) continue;
    RankState state{.rank = ranks_[r],
                    .host = host_,
                    .pid = pid,
                    .is_gone = is_gone(pid) && slot.has_left.load() == 0,
                    .silent = now - Seconds{slot.beat_s.load()},
                    .lanes = {}};
    constexpr int kTries = 100;
    for (int t = 0; t < kTries; ++t) {
      const std::uint64_t before = slot.sequence.load();
      std::array<std::uint64_t, Slot::kWords> words{};
      for (std::size_t w = 0; w < words.size(); ++w) words[w] = slot.lanes[w].load();
      if (before % 2 == 0 && slot.sequence.load() == before) {
        std::memcpy(static_cast<void*>(state.lanes.data()), words.data(), sizeof state.lanes);
        break;
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

bool PeerBoard::claim_report() {
  return Layout::in(memory_).is_claimed.exchange(1) == 0;
}

}  // namespace twinax::net
