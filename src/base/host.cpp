#include "twinax/base/host.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <unistd.h>

namespace twinax {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

}  // namespace twinax
