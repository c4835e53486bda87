#include "app/launch.hpp"

#include <cstdlib>
#include <exception>
#include <optional>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"

#include "app/agreement.hpp"

namespace twinax::app {
namespace {

/// The first of some environment variables that is set, as a number.
std::optional<int> number_from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') return std::atoi(text);
  }
  return std::nullopt;
}

}  // namespace

int rank_from_environment() {
  return number_from_environment({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}).value_or(0);
}

bool is_launched() {
  return number_from_environment({"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "SLURM_NTASKS"}).has_value();
}

int launch(const RunArguments& arguments, const Invocation& invocation, const std::function<Config()>& load,
           const std::function<int(net::World&)>& body) {
  constexpr int kBadInput = 2;
  std::optional<Config> config;
  std::optional<std::string> error;
  try {
    config = load();
    if (arguments.ranks > 0 && config->text("net.transport") != "loopback") {
      throw ConfigError(
          "--ranks is for the loopback transport (--set net.transport=loopback); with MPI, mpirun -n says how many ranks there are");
    }
  } catch (const Error& failure) {
    error = failure.what();
  }
  if (error && !is_launched()) {
    log_error(*error);
    return kBadInput;
  }
  net::WorldOptions options;
  if (config) {
    options.transport = config->text("net.transport");
    options.longest_wait = {config->real("watchdog.seconds")};
  }
  options.ranks = arguments.ranks > 0 ? arguments.ranks : 1;
  int argc = invocation.argc;
  char** argv = invocation.argv;
  options.argc = &argc;
  options.argv = &argv;
  return net::run_world(options, [&](net::World& world) {
    try {
      agree(world, [&] {
        if (error) throw ConfigError(*error);
      });
      return body(world);
    } catch (const AgreedError& agreed) {
      if (world.rank() == 0) log_error(agreed.what());
      return kBadInput;
    }
  });
}

}  // namespace twinax::app
