#include "app/progress.hpp"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace twinax::app {

Progress::Progress(Clock& clock, std::int64_t total, bool quiet)
    : clock_(clock), total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), start_(clock.now()) {}

Progress::~Progress() {
  if (open_) std::fputs("\n", stderr);
}

void Progress::show(std::int64_t done, const std::string& text) {
  if (quiet_) return;
  const Seconds now = clock_.now();
  constexpr double kTerminalPause = 0.1;
  constexpr double kLogPause = 10;
  if (done < total_ && (now - shown_).value < (terminal_ ? kTerminalPause : kLogPause)) return;
  shown_ = now;
  const Seconds spent = now - start_;
  const Seconds left = done > 0 ? spent * (static_cast<double>(total_ - done) / static_cast<double>(done)) : Seconds{0};
  const std::string line = fmt::format("[{}/{}] {}  {} left", done, total_, text, duration_for_people(left));
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", line);
    open_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

void Progress::print(const std::string& line) {
  if (open_) std::fputs("\r\033[K", stderr);
  open_ = false;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string duration_for_people(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(std::lround(time.value));
  return seconds < 60 ? fmt::format("{} s", seconds) : fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

}  // namespace twinax::app
