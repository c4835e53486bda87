#include "twinax/step/trace_json.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace twinax::step {
namespace {

/// How many bytes at the beginning of `text` (not empty) are one character of UTF-8; 0 if none is there.
std::size_t character_at_front(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_no_character = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_no_character ? 0 : length;
}

/// A text of JSON; a byte that is no UTF-8 becomes the replacement character.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = character_at_front(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

/// Microseconds; a time that is not finite would make the file invalid, so it becomes 0.
std::string microseconds(Seconds time) {
  const double value = time.value * 1e6;
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "0";
}

}  // namespace

std::string to_trace_json(const StepGraph& graph, std::span<const RankTimeline> ranks) {
  Seconds start{std::numeric_limits<double>::infinity()};
  for (const RankTimeline& rank : ranks) {
    for (const Event& event : rank.events) start = std::min(start, event.begin);
  }
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  std::string_view separator;
  const auto write = [&](const std::string& event) {
    out += separator;
    out += event;
    separator = ",\n";
  };
  for (const RankTimeline& rank : ranks) {
    write(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"rank {}"}}}})", rank.rank, rank.rank));
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      write(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", rank.rank, lane,
                        quoted(name_of(static_cast<LaneKind>(lane)))));
    }
    for (const Event& event : rank.events) {
      const Op& op = graph[event.op];
      write(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"unit":{},"step":{},"bytes":{}}}}})",
                        quoted(op.name), name_of(op.kind), rank.rank, static_cast<std::size_t>(op.lane), microseconds(event.begin - start),
                        microseconds(event.end - event.begin), op.unit, event.step, op.bytes.value));
    }
  }
  return out + "\n]}\n";
}

}  // namespace twinax::step
