#include "twinax/data/span_corruption.hpp"

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/base/error.hpp"

namespace twinax::data {
namespace {

using Tokens = std::vector<std::int32_t>;

SpanCorruption make(std::int64_t text, std::uint64_t seed = 1, const SpanOptions& options = {}) {
  const SpanSizes sizes = span_sizes(text, options);
  return {sizes, {.shift = 3, .text = 256, .vocabulary = span_vocabulary(3, 256, sizes.spans)}, seed};
}

Tokens corrupted(const SpanCorruption& corruption, std::int64_t sequence, const Tokens& text) {
  Tokens out(static_cast<std::size_t>(corruption.sizes().inputs() + corruption.sizes().targets()));
  corruption.corrupt(0, sequence, text, out);
  return out;
}

Tokens counted(std::int64_t text) {
  Tokens tokens(static_cast<std::size_t>(text));
  std::iota(tokens.begin(), tokens.end(), 0);
  for (auto& token : tokens) token %= 256;
  return tokens;
}

TEST(SpanSizes, AreT5s) {
  // T5's own: inputs of 512 tokens are made of 568 with 85 of them hidden in 28 spans, and give 114 targets.
  const SpanSizes sizes = longest_span_sizes(512, {});
  EXPECT_EQ(sizes, (SpanSizes{.text = 568, .noise = 85, .spans = 28}));
  EXPECT_EQ(sizes.inputs(), 512);
  EXPECT_EQ(sizes.targets(), 114);
}

TEST(SpanSizes, AreTheLongestThatFit) {
  for (std::int64_t inputs = 4; inputs < 300; ++inputs) {
    const SpanSizes sizes = longest_span_sizes(inputs, {});
    EXPECT_LE(sizes.inputs(), inputs);
    EXPECT_GT(span_sizes(sizes.text + 1, {}).inputs(), inputs);
    EXPECT_GE(sizes.spans, 1);
    EXPECT_LE(sizes.spans, std::min(sizes.noise, sizes.text - sizes.noise));
  }
}

TEST(SpanSizes, RefuseWhatCanNotBe) {
  EXPECT_THROW((void)longest_span_sizes(2, {}), InvalidArgument);
  EXPECT_THROW((void)span_sizes(1, {}), InvalidArgument);
  EXPECT_THROW((void)span_sizes(10, {.noise_share = 0}), InvalidArgument);
  EXPECT_THROW((void)span_sizes(10, {.noise_share = 1}), InvalidArgument);
  EXPECT_THROW((void)span_sizes(10, {.mean_span = 0.5}), InvalidArgument);
}

TEST(SpanVocabulary, IsThatOfT5AndOfByT5) {
  EXPECT_EQ(span_vocabulary(0, 32000, 28), 32128);
  EXPECT_EQ(span_vocabulary(3, 256, 28), 384);
  EXPECT_EQ(span_vocabulary(3, 256, 400), 768) << "room for every sentinel";
}

TEST(SpanCorruption, PutsBackTogetherWhatItTookApart) {
  for (const std::int64_t length : {2, 3, 10, 57, 568}) {
    const SpanCorruption corruption = make(length);
    const SpanSizes& sizes = corruption.sizes();
    const Tokens text = counted(length);
    for (std::int64_t sequence = 0; sequence < 20; ++sequence) {
      const Tokens out = corrupted(corruption, sequence, text);
      const auto inputs = out.begin() + sizes.inputs();
      ASSERT_EQ(*(inputs - 1), 1) << "inputs end";
      ASSERT_EQ(out.back(), 1) << "targets end";
      // Each sentinel of the inputs is replaced by what follows it in the targets.
      std::map<std::int32_t, Tokens> spans;
      std::int32_t sentinel = 384;
      for (auto at = inputs; at != out.end() - 1; ++at) {
        if (*at >= 3 + 256) {
          ASSERT_EQ(*at, --sentinel) << "sentinels go down from the top";
          spans[sentinel] = {};
        } else {
          spans[sentinel].push_back(*at - 3);
        }
      }
      ASSERT_EQ(std::ssize(spans), sizes.spans);
      Tokens again;
      for (auto at = out.begin(); at != inputs - 1; ++at) {
        if (*at < 3 + 256) {
          again.push_back(*at - 3);
        } else {
          ASSERT_FALSE(spans.at(*at).empty());
          again.insert(again.end(), spans[*at].begin(), spans[*at].end());
        }
      }
      ASSERT_EQ(again, text);
    }
  }
}

TEST(SpanCorruption, HidesAsManyTokensAsItSays) {
  const SpanCorruption corruption = make(568);
  std::vector<std::uint8_t> hidden(568);
  for (std::int64_t sequence = 0; sequence < 50; ++sequence) {
    corruption.hide(0, sequence, hidden);
    EXPECT_EQ(std::accumulate(hidden.begin(), hidden.end(), 0), 85);
    EXPECT_EQ(hidden.front(), 0);
    EXPECT_EQ(hidden.back(), 1);
  }
}

TEST(SpanCorruption, IsAFunctionOfSeedSeriesAndSequence) {
  const Tokens text = counted(200);
  const auto hidden = [](std::uint64_t seed, std::uint32_t series, std::int64_t sequence) {
    std::vector<std::uint8_t> mask(200);
    make(200, seed).hide(series, sequence, mask);
    return mask;
  };
  EXPECT_EQ(hidden(1, 0, 7), hidden(1, 0, 7));
  EXPECT_NE(hidden(1, 0, 7), hidden(1, 0, 8));
  EXPECT_NE(hidden(1, 0, 7), hidden(1, 1, 7));
  EXPECT_NE(hidden(1, 0, 7), hidden(2, 0, 7));
  EXPECT_EQ(corrupted(make(200), 1'000'000'000, text), corrupted(make(200), 1'000'000'000, text));
}

TEST(SpanCorruption, CutsInEveryWayEquallyOften) {
  // 7 tokens, 4 hidden in 2 spans of 1 to 3, 3 left in 2 runs of 1 or 2: 3 x 2 ways, of which each has a sixth of 6000 draws.
  const SpanOptions options{.noise_share = 0.571, .mean_span = 2};
  const SpanCorruption corruption = make(7, 5, options);
  ASSERT_EQ(corruption.sizes(), (SpanSizes{.text = 7, .noise = 4, .spans = 2}));
  std::map<std::string, int> seen;
  std::vector<std::uint8_t> hidden(7);
  for (std::int64_t sequence = 0; sequence < 6000; ++sequence) {
    corruption.hide(0, sequence, hidden);
    std::string mask;
    for (const std::uint8_t bit : hidden) mask += bit == 0 ? '.' : '#';
    ++seen[mask];
  }
  EXPECT_THAT(seen, testing::SizeIs(6));
  for (const auto& [mask, count] : seen) EXPECT_NEAR(count, 1000, 5 * 29) << mask;  // five standard deviations
}

TEST(SpanCorruption, RefusesAVocabularyWithoutRoomForItsSentinels) {
  const SpanSizes sizes = span_sizes(568, {});
  EXPECT_THROW(SpanCorruption(sizes, {.shift = 3, .text = 256, .vocabulary = 286}, 1), InvalidArgument);
  EXPECT_NO_THROW(SpanCorruption(sizes, {.shift = 3, .text = 256, .vocabulary = 287}, 1));
}

}  // namespace
}  // namespace twinax::data
