#pragma once

#include <string>

namespace twinax {

/// The host's name, as the operating system has it; "unknown" if it has none.
[[nodiscard]] std::string host_name();

}  // namespace twinax
