#include "app/paths.hpp"

#include <array>
#include <system_error>

#include "twinax/base/error.hpp"

namespace twinax::app {

std::filesystem::path find_shared(const std::filesystem::path& relative) {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::array<std::filesystem::path, 3> roots{std::filesystem::path("."), program.parent_path().parent_path(),
                                                   program.parent_path().parent_path() / "share" / "twinax"};
  std::string tried;
  for (const std::filesystem::path& root : roots) {
    const std::filesystem::path path = root / relative;
    if (std::filesystem::exists(path, ignored)) return path.lexically_normal();
    tried += "\n  " + path.lexically_normal().string();
  }
  throw FileError("can't find " + relative.string() + ", which belongs to twinax; looked for" + tried);
}

}  // namespace twinax::app
