#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace twinax {

/// A set of the host's cores, by number.
class CoreSet {
 public:
  /// The cores that this thread's affinity allows; all that are online where the kernel can't say. Threads: any.
  [[nodiscard]] static CoreSet allowed();

  void add(std::size_t core) { words_.at(core / kBits) |= std::uint64_t{1} << (core % kBits); }
  /// The number of cores in the set.
  [[nodiscard]] int count() const;
  /// The bits, for exchanges between ranks: sets are joined by "or".
  [[nodiscard]] std::array<std::uint64_t, 64>& words() { return words_; }

 private:
  static constexpr std::size_t kBits = 64;
  std::array<std::uint64_t, 64> words_{};
};

/// Cores whose time the cgroup allows, at most: 1.5 under `docker --cpus 1.5`; 0 if there is no limit.
[[nodiscard]] double quota_cores();
/// Cores allowed by a text like cpu.max's ("150000 100000" is 1.5); 0 if there is no limit.
[[nodiscard]] double quota_of(std::string_view cpu_max);
/// How many of `cores` can be busy at once under a quota (0 = none): a part of a core counts as one.
[[nodiscard]] int usable_cores(int cores, double quota);

/// For the body of a loop that spins: gives a core's other thread room.
inline void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace twinax
