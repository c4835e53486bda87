#pragma once

#include <cstdint>
#include <string>

#include "twinax/base/clock.hpp"
#include "twinax/base/units.hpp"

namespace twinax::app {

/// A line that tells how far a long command is and how long it will take: rewritten in place on a terminal, a plain line now and then in a
/// log. On stderr.
class Progress {
 public:
  /// `quiet` prints nothing. `total` in units of work.
  Progress(Clock& clock, std::int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done` units are over; `text` says what was done last.
  void show(std::int64_t done, const std::string& text);
  /// A line that stays, on stdout, quiet or not.
  void print(const std::string& line);

 private:
  Clock& clock_;
  std::int64_t total_;
  bool quiet_;
  bool terminal_;
  Seconds start_;
  Seconds shown_{-1e9};
  bool open_ = false;  // a line without its end stands on the terminal
};

/// "12 s", "3 min 20 s".
[[nodiscard]] std::string duration_for_people(Seconds time);

}  // namespace twinax::app
