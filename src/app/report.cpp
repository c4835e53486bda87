#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "twinax/base/error.hpp"
#include "twinax/base/log.hpp"

#include "app/commands.hpp"
#include "app/paths.hpp"

namespace twinax::app {
namespace {

/// Debian's interpreter, which has h5py and matplotlib; the first `python3` on the path may be another.
std::string python() {
  if (const char* chosen = std::getenv("TWINAX_PYTHON"); chosen != nullptr && *chosen != '\0') return chosen;
  return std::filesystem::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

int run(const std::vector<std::string>& command, const std::string& python_path) {
  const pid_t child = fork();
  if (child < 0) throw SystemError(errno, std::string("starting python for the report: ") + std::strerror(errno));
  if (child == 0) {
    setenv("PYTHONPATH", python_path.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    constexpr int kNotFound = 127;
    _exit(kNotFound);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError(errno, std::string("waiting for the report: ") + std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

}  // namespace

int report_command(const ReportArguments& arguments) {
  try {
    const std::filesystem::path package = find_shared(std::filesystem::path("experiments") / "twinax_results");
    std::vector<std::string> command{python(), "-m", "twinax_results", "report"};
    command.insert(command.end(), arguments.files.begin(), arguments.files.end());
    command.insert(command.end(), {"-o", arguments.out});
    const int code = run(command, std::filesystem::absolute(package.parent_path()).string());
    constexpr int kNotFound = 127;
    if (code == kNotFound) log_error("can't run " + command.front() + "; set TWINAX_PYTHON to an interpreter that has h5py and matplotlib");
    return code;
  } catch (const Error& error) {
    log_error(error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace twinax::app
