#include "twinax/step/trace_json.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace twinax::step {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// Microseconds; a time that is not finite would make the file invalid, so it becomes 0.
std::string microseconds(Seconds time) {
  return std::isfinite(time.value) ? fmt::format("{:.3f}", time.value * 1e6) : "0";
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
