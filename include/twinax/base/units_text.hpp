#pragma once

#include <string>
#include <string_view>

#include "twinax/base/units.hpp"

namespace twinax {

/// Reads "512MiB", "1.5GB", "64B" (B KB MB GB TB decimal; KiB MiB GiB TiB binary). Throws InvalidArgument: what was found, an example; a
/// bare number is refused.
[[nodiscard]] Bytes parse_bytes(std::string_view text);
/// Reads "15us", "2ms", "60s", "1.5min".
[[nodiscard]] Seconds parse_seconds(std::string_view text);
/// Reads "25Gbit/s", "100Mbit/s" (decimal bits), "12.5GB/s" (decimal bytes), "1GiB/s". "25gb" and "25GBit/s" are refused: bits and bytes
/// are never confused.
[[nodiscard]] BytesPerSecond parse_rate(std::string_view text);
/// Reads "312TFLOP/s": what an accelerator computes. Throws InvalidArgument likewise.
[[nodiscard]] FlopsPerSecond parse_flops_rate(std::string_view text);

/// Shortest text that parses back to the same value.
[[nodiscard]] std::string to_text(Bytes volume);
[[nodiscard]] std::string to_text(Seconds time);
[[nodiscard]] std::string to_text(BytesPerSecond rate);

/// For people: three significant digits and a fitting unit ("1.23 GB", "15.2 us", "25.0 Gbit/s", "1.50 TFLOP/s").
[[nodiscard]] std::string for_people(Bytes volume);
[[nodiscard]] std::string for_people(Seconds time);
[[nodiscard]] std::string for_people(BytesPerSecond rate);
[[nodiscard]] std::string for_people(FlopsPerSecond rate);

}  // namespace twinax
