#include "twinax/base/config.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"

#include "app/cluster_catalog.hpp"
#include "app/commands.hpp"
#include "app/experiment.hpp"
#include "app/model_catalog.hpp"

namespace twinax::app {

int config_command(const ConfigArguments& arguments) {
  try {
    if (arguments.file.empty() && arguments.set.empty()) {
      fmt::print("{}", config_reference());
      return 0;
    }
    constexpr std::array<std::string_view, 2> kSweepTables{"sweep", "axes"};
    Config config;
    if (!arguments.file.empty()) config = load_config(arguments.file, {}, kSweepTables);
    for (const std::string& assignment : arguments.set) config.set(assignment);
    take_catalog_model(config);
    take_catalog_cluster(config);
    fmt::print("{}", config.to_toml());
    return 0;
  } catch (const Error& error) {
    log_error(error.what());
    return 2;
  }
}

}  // namespace twinax::app
