#include "twinax/step/trace_json.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/step/json_check.hpp"
#include "unit/step/random_graph.hpp"

namespace twinax::step {
namespace {

using test::JsonCheck;
using test::make_op;
using ::testing::HasSubstr;

TEST(JsonCheck, TellsJsonFromWhatIsNone) {
  for (const char* text :
       {"{}", "[]", " [1, -2.5, 1e9, \"a\\u00e9\\n\", true, null, {\"k\":[{}]}] ", "\"\xC3\xA9\xF0\x9F\x98\x80\"", "0.000"})
    EXPECT_TRUE(JsonCheck(text).is_valid()) << text;
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "{a:1}", "01", "1.", "inf", "-", "nan", "\"a\nb\"", "\"\\x\"", "\"\\u12\"",
                           "\"\xFF\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "[1] 2", "\"open"})
    EXPECT_FALSE(JsonCheck(text).is_valid()) << text;
}

StepGraph two_ops() {
  StepGraph graph;
  Op gather = make_op(LaneKind::Collective, "gather h.0");
  gather.unit = 1;
  gather.bytes = Bytes{4096};
  graph.add(gather);
  Op forward = make_op(LaneKind::Compute, "forward h.0", {OpId{0}});
  forward.unit = 1;
  graph.add(forward);
  return graph;
}

Event event_of(std::size_t op, Seconds begin, Seconds end, std::int64_t step = 0) {
  return {.op = {op}, .step = step, .issued = {0}, .begin = begin, .end = end};
}

TEST(TraceJson, OfNoRanksIsAnEmptyTrace) {
  EXPECT_EQ(to_trace_json(StepGraph{}, {}), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\n]}\n");
}

TEST(TraceJson, NamesProcessesAndThreadsAndTellsTimesInMicroseconds) {
  const std::vector<RankTimeline> ranks{
      {.rank = 3, .events = {event_of(0, {10.0}, {10.5}, 7), event_of(1, {10.5}, {10.500125}, 7)}},
  };
  EXPECT_EQ(to_trace_json(two_ops(), ranks),
            R"({"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"rank 3"}},
{"ph":"M","name":"thread_name","pid":3,"tid":0,"args":{"name":"compute"}},
{"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"collective"}},
{"ph":"M","name":"thread_name","pid":3,"tid":2,"args":{"name":"service"}},
{"ph":"X","name":"gather h.0","cat":"gather","pid":3,"tid":1,"ts":0.000,"dur":500000.000,"args":{"unit":1,"step":7,"bytes":4096}},
{"ph":"X","name":"forward h.0","cat":"forward","pid":3,"tid":0,"ts":500000.000,"dur":125.000,"args":{"unit":1,"step":7,"bytes":0}}
]}
)");
}

TEST(TraceJson, CountsAllRanksFromTheEarliestBegin) {
  const std::vector<RankTimeline> ranks{{.rank = 0, .events = {event_of(0, {2.25}, {3})}}, {.rank = 1, .events = {event_of(0, {2}, {3})}}};
  const std::string text = to_trace_json(two_ops(), ranks);
  EXPECT_THAT(text, HasSubstr(R"("pid":0,"tid":1,"ts":250000.000,"dur":750000.000)"));
  EXPECT_THAT(text, HasSubstr(R"("pid":1,"tid":1,"ts":0.000,"dur":1000000.000)"));
  EXPECT_TRUE(JsonCheck(text).is_valid());
}

/// The trace of one op with the name.
std::string trace_of(const std::string& name) {
  StepGraph graph;
  graph.add(make_op(LaneKind::Compute, name));
  const std::vector<RankTimeline> ranks{{.rank = 0, .events = {event_of(0, {0}, {1})}}};
  return to_trace_json(graph, ranks);
}

TEST(TraceJson, EscapesWhatJsonEscapes) {
  EXPECT_THAT(trace_of("a \"b\" \\c\n\t\x01"), HasSubstr(R"("name":"a \"b\" \\c\u000a\u0009\u0001")"));
  EXPECT_THAT(trace_of("{}"), HasSubstr(R"("name":"{}")"));
}

TEST(TraceJson, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_THAT(trace_of("h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), HasSubstr("\"h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\""));
  EXPECT_THAT(trace_of("a\xFFz"), HasSubstr(R"("a\ufffdz")"));
  EXPECT_THAT(trace_of("cut\xE2\x82"), HasSubstr(R"("cut\ufffd\ufffd")"));
  EXPECT_THAT(trace_of("overlong\xC0\x80"), HasSubstr(R"("overlong\ufffd\ufffd")"));
  EXPECT_THAT(trace_of("surrogate\xED\xA0\x80"), HasSubstr(R"("surrogate\ufffd\ufffd\ufffd")"));
}

TEST(TraceJson, IsJsonWhateverBytesTheNamesHold) {
  test::Numbers numbers(5);
  for (int round = 0; round < 2000; ++round) {
    std::string name;
    for (std::size_t i = numbers.below(12); i > 0; --i) name += static_cast<char>(numbers.below(256));
    ASSERT_TRUE(JsonCheck(trace_of(name)).is_valid()) << ::testing::PrintToString(name);
  }
}

TEST(TraceJson, IsJsonWhateverTheTimes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> times{0, -0.0, -1, 1e-300, 1e300, 1.7e308, -1.7e308, kInfinity, -kInfinity, std::nan("")};
  const StepGraph graph = two_ops();
  for (const double begin : times) {
    for (const double end : times) {
      const std::vector<RankTimeline> ranks{{.rank = 0, .events = {event_of(0, {begin}, {end}), event_of(1, {0}, {1})}}};
      EXPECT_TRUE(JsonCheck(to_trace_json(graph, ranks)).is_valid()) << begin << " to " << end;
    }
  }
}

}  // namespace
}  // namespace twinax::step
