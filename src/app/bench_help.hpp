#pragma once

#include <string>

namespace twinax::app {

/// What `twinax bench --help` and those of its commands end with: columns, and examples with a part of what they print.
[[nodiscard]] std::string bench_help();
[[nodiscard]] std::string bench_net_help();
[[nodiscard]] std::string bench_collective_help();

}  // namespace twinax::app
