#include "twinax/record/environment.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "twinax/base/cores.hpp"
#include "twinax/base/host.hpp"

#include "git_revision.hpp"
#include "record/hdf5.hpp"

namespace twinax::record {
namespace {

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
  std::ifstream cpuinfo("/proc/cpuinfo");
  environment.cpu = cpu_model(std::string(std::istreambuf_iterator<char>(cpuinfo), {}));
  environment.cores = usable_cores(CoreSet::allowed().count(), quota_cores());
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

bool is_hdf5_parallel() {
#ifdef H5_HAVE_PARALLEL
  return true;
#else
  return false;
#endif
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
