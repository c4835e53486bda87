#pragma once

#include <string>

namespace twinax {

/// Sets this process's rank (shown before each line; only rank 0 prints `info`) and the verbosity: 0 quiet, 1 normal, 2 debug.
void start_log(int rank, int verbosity);

/// A line of interest on stderr, from rank 0 only.
void log_info(const std::string& line);
/// A line on stderr from any rank.
void log_warn(const std::string& line);
/// A line on stderr from any rank.
void log_error(const std::string& line);

}  // namespace twinax
