#include "twinax/base/log.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include "fmt/format.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace twinax {
namespace {

/// The process's one log; the exception to "no mutable globals", since a line may be due anywhere.
struct Log {
  std::shared_ptr<spdlog::logger> out = std::make_shared<spdlog::logger>("twinax", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  std::atomic<int> rank{0};
  std::atomic<int> verbosity{1};
  Log() {
    out->set_pattern("%v");
    out->set_level(spdlog::level::trace);
  }
};

Log& log() {
  static Log the_log;
  return the_log;
}

void print(const char* kind, const std::string& line) {
  Log& to = log();
  to.out->log(spdlog::level::info, "twinax[{}] {}{}", to.rank.load(), kind, line);
}

}  // namespace

void start_log(int rank, int verbosity) {
  log().rank = rank;
  log().verbosity = verbosity;
}

void log_debug(const std::string& line) {
  if (log().verbosity >= 2) print("debug: ", line);
}

void log_info(const std::string& line) {
  if (log().verbosity >= 1 && log().rank == 0) print("", line);
}

void log_warn(const std::string& line) {
  print("warning: ", line);
}

void log_error(const std::string& line) {
  print("error: ", line);
}

}  // namespace twinax
