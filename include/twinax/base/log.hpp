#pragma once

#include <string>

namespace twinax {

/// Sets this process's rank (shown before each line; only rank 0 prints `info`) and the verbosity: 0 quiet (warnings and errors), 1 normal,
/// 2 debug.
void start_log(int rank, int verbosity);

/// A line on stderr from any rank, at verbosity 2 only. Threads: any, for all of these.
void log_debug(const std::string& line);
/// A line of interest on stderr, from rank 0 only, and not when quiet.
void log_info(const std::string& line);
/// A line on stderr from any rank.
void log_warn(const std::string& line);
/// A line on stderr from any rank.
void log_error(const std::string& line);

}  // namespace twinax
