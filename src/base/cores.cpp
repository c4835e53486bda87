#include "twinax/base/cores.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace twinax {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The folder of this process's cgroup (version 2), "" if there is none.
std::string cgroup_folder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  }
  return {};
}

}  // namespace

CoreSet CoreSet::allowed() {
  CoreSet set;
  if (sched_getaffinity(0, sizeof set.words_, reinterpret_cast<cpu_set_t*>(set.words_.data())) == 0) return set;
  const auto online = static_cast<std::size_t>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, static_cast<long>(kBits * set.words_.size())));
  for (std::size_t core = 0; core < online; ++core) set.add(core);
  return set;
}

int CoreSet::count() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

double quota_cores() {
  // The smallest of the process's cgroup and those above it.
  double least = 0;
  const auto consider = [&least](double cores) {
    if (cores > 0) least = least > 0 ? std::min(least, cores) : cores;
  };
  for (std::string folder = cgroup_folder(); folder.size() >= std::string_view("/sys/fs/cgroup").size();
       folder.resize(folder.find_last_of('/'))) {
    consider(quota_of(text_of(folder + "/cpu.max")));
  }
  // Version 1 keeps the two numbers in two files.
  consider(quota_of(text_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " + text_of("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
  return least;
}

double quota_of(std::string_view cpu_max) {
  std::array<double, 2> numbers{};  // microseconds of processor time, and the period in which they may be used
  const char* at = cpu_max.data();
  const char* const end = at + cpu_max.size();
  for (double& number : numbers) {
    while (at != end && (*at == ' ' || *at == '\n')) ++at;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc{}) return 0;  // "max"
    at = parsed.ptr;
  }
  return numbers[0] > 0 && numbers[1] > 0 ? numbers[0] / numbers[1] : 0;
}

int usable_cores(int cores, double quota) {
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cores) : cores;
}

}  // namespace twinax
