#include "twinax/record/environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

#include "twinax/base/host.hpp"

#include "git_revision.hpp"
#include "record/hdf5.hpp"

namespace twinax::record {
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

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  check_hdf5(H5get_libversion(&major, &minor, &release), "asking for the version of HDF5", "-");
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace

Environment this_environment() {
  Environment environment;
  const std::array own{host_name()};
  environment.hosts = describe_hosts(own);
  environment.cpu = cpu_model(text_of("/proc/cpuinfo"));
  environment.cores = usable_cores();
  environment.hdf5 = hdf5_version();
  environment.compiler = compiler_name();
  environment.git_revision = git_revision();
  return environment;
}

std::string describe_hosts(std::span<const std::string> host_of_rank) {
  std::string text;
  for (std::size_t first = 0; first < host_of_rank.size();) {
    std::size_t last = first;
    while (last + 1 < host_of_rank.size() && host_of_rank[last + 1] == host_of_rank[first]) ++last;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", host_of_rank[first], first);
    if (last > first) text += fmt::format("-{}", last);
    first = last + 1;
  }
  return text;
}

std::string cpu_model(std::string_view cpuinfo) {
  const std::size_t key = cpuinfo.find("model name");
  if (key == std::string_view::npos) return "unknown";
  const std::size_t colon = cpuinfo.find(':', key);
  const std::size_t end = std::min(cpuinfo.find('\n', key), cpuinfo.size());
  if (colon == std::string_view::npos || colon > end) return "unknown";
  std::string_view name = cpuinfo.substr(colon + 1, end - colon - 1);
  while (name.starts_with(' ') || name.starts_with('\t')) name.remove_prefix(1);
  return name.empty() ? "unknown" : std::string(name);
}

std::int64_t allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));  // more cores than the mask has bits
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

bool is_hdf5_parallel() {
#ifdef H5_HAVE_PARALLEL
  return true;
#else
  return false;
#endif
}

std::int64_t usable_cores() {
  const std::int64_t cores = allowed_cores();
  const double limit = quota_cores();
  return limit > 0 ? std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(limit)), 1, cores) : cores;
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

std::string git_revision() {
  return TWINAX_GIT_REVISION;
}

std::string compiler_name() {
#if defined(__clang__)
  const std::string name = fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string name = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  return name + " " + TWINAX_BUILD_TYPE;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec);
}

}  // namespace twinax::record
