#pragma once

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace twinax::test {

/// How a child process ended, and what it printed to stdout and stderr.
struct ChildEnd {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = 0;
  std::string output{};
};

/// Runs `body` in a process of its own, which ends with the value that it returns; an exception is printed, and ends it with 99.
template <class Body>
ChildEnd run_in_child(Body&& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    constexpr int kThrew = 99;
    int code = kThrew;
    try {
      code = body();
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(code);
  }
  close(ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) end.output.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

/// From here on no file of this process grows beyond `bytes`: writes fail as they do on a full disk.
inline void fill_disk_beyond(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("setrlimit");
}

}  // namespace twinax::test
