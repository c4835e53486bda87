#pragma once

#include <functional>
#include <string>

#include "twinax/base/config.hpp"
#include "twinax/net/bootstrap.hpp"

#include "app/command_line.hpp"
#include "app/commands.hpp"

namespace twinax::app {

/// This process's rank as mpirun or srun says, before MPI is started; 0 where neither did.
[[nodiscard]] int rank_from_environment();

/// Whether a launcher started this process as one of several.
[[nodiscard]] bool is_launched();

/// Loads what a command needs on every rank, and if that works on all of them runs the command's body there. An error of loading is printed
/// once, by the lowest rank that has it, and gives exit code 2.
///
/// `load` returns the config that names the transport; it is called before any rank talks to another.
int launch(const RunArguments& arguments, const Invocation& invocation, const std::function<Config()>& load,
           const std::function<int(net::World&)>& body);

}  // namespace twinax::app
