#include "twinax/data/span_corruption.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"

namespace twinax::data {
namespace {

constexpr std::int64_t kLeastSentinels = 100;
constexpr std::int64_t kMultiple = 128;
constexpr unsigned kDrawBits = 24;  // draws of one sequence
constexpr std::int64_t kLongestText = std::int64_t{1} << kDrawBits;

/// Numbers of one sequence, one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t series, std::int64_t sequence)
      : random_(seed, Draw::SpanCorruption, series), next_(static_cast<std::uint64_t>(sequence) << kDrawBits) {}
  double uniform() { return random_.uniform(next_++); }

 private:
  Philox random_;
  std::uint64_t next_;
};

/// Cuts `total` into `parts` pieces of at least 1, every way as likely: parts - 1 of the total - 1 places between are chosen, in order.
std::vector<std::int64_t> cut(std::int64_t total, std::int64_t parts, Draws& draws) {
  std::vector<std::int64_t> pieces{1};
  std::int64_t wanted = parts - 1;
  for (std::int64_t left = total - 1; left > 0; --left) {
    if (draws.uniform() * static_cast<double>(left) < static_cast<double>(wanted)) {
      pieces.push_back(1);
      --wanted;
    } else {
      ++pieces.back();
    }
  }
  return pieces;
}

}  // namespace

SpanSizes span_sizes(std::int64_t text, const SpanOptions& options) {
  if (!(options.noise_share > 0 && options.noise_share < 1) || !(options.mean_span >= 1)) {
    throw InvalidArgument(fmt::format("hiding a share of {} in spans of {} tokens", options.noise_share, options.mean_span));
  }
  if (text < 2 || text >= kLongestText) {
    throw InvalidArgument(fmt::format("hiding spans of {} tokens: 2 to {} are possible", text, kLongestText - 1));
  }
  const std::int64_t noise = std::clamp<std::int64_t>(std::llround(static_cast<double>(text) * options.noise_share), 1, text - 1);
  const std::int64_t wanted = std::max<std::int64_t>(std::llround(static_cast<double>(noise) / options.mean_span), 1);
  return {.text = text, .noise = noise, .spans = std::min({wanted, noise, text - noise})};
}

SpanSizes longest_span_sizes(std::int64_t inputs, const SpanOptions& options) {
  std::int64_t text = 2;
  while (span_sizes(text + 1, options).inputs() <= inputs) ++text;
  const SpanSizes sizes = span_sizes(text, options);
  if (sizes.inputs() > inputs) {
    throw InvalidArgument(fmt::format("hiding spans for inputs of {} tokens: {} at least are needed", inputs, sizes.inputs()));
  }
  return sizes;
}

std::int64_t span_vocabulary(std::int64_t shift, std::int64_t text, std::int64_t spans) {
  const std::int64_t needed = shift + text + std::max(spans, kLeastSentinels);
  return (needed + kMultiple - 1) / kMultiple * kMultiple;
}

SpanCorruption::SpanCorruption(const SpanSizes& sizes, const SpanIds& ids, std::uint64_t seed) : sizes_(sizes), ids_(ids), seed_(seed) {
  if (ids.shift + ids.text + sizes.spans > ids.vocabulary) {
    throw InvalidArgument(fmt::format("a vocabulary of {} has no room for {} tokens of text and {} sentinels", ids.vocabulary,
                                      ids.shift + ids.text, sizes.spans));
  }
}

void SpanCorruption::hide(std::uint32_t series, std::int64_t sequence, std::span<std::uint8_t> hidden) const {
  if (std::cmp_not_equal(hidden.size(), sizes_.text)) {
    throw InvalidArgument(fmt::format("hiding spans in {} tokens, made for {}", hidden.size(), sizes_.text));
  }
  Draws draws(seed_, series, sequence);
  const std::vector<std::int64_t> spans = cut(sizes_.noise, sizes_.spans, draws);
  const std::vector<std::int64_t> runs = cut(sizes_.text - sizes_.noise, sizes_.spans, draws);
  auto at = hidden.begin();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    at = std::fill_n(at, runs[i], std::uint8_t{0});
    at = std::fill_n(at, spans[i], std::uint8_t{1});
  }
}

void SpanCorruption::corrupt(std::uint32_t series, std::int64_t sequence, std::span<const std::int32_t> text,
                             std::span<std::int32_t> out) const {
  if (std::cmp_not_equal(text.size(), sizes_.text) || std::cmp_not_equal(out.size(), sizes_.inputs() + sizes_.targets())) {
    throw InvalidArgument(fmt::format("hiding spans of {} tokens into {}, made for {} into {}", text.size(), out.size(), sizes_.text,
                                      sizes_.inputs() + sizes_.targets()));
  }
  std::vector<std::uint8_t> hidden(text.size());
  hide(series, sequence, hidden);
  auto input = out.begin();
  auto target = out.begin() + sizes_.inputs();
  auto sentinel = static_cast<std::int32_t>(ids_.vocabulary);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto token = static_cast<std::int32_t>(text[i] + ids_.shift);
    if (hidden[i] == 0) {
      *input++ = token;
      continue;
    }
    if (i == 0 || hidden[i - 1] == 0) {
      *input++ = --sentinel;
      *target++ = sentinel;
    }
    *target++ = token;
  }
  *input = SpanIds::kEnd;
  *target = SpanIds::kEnd;
}

}  // namespace twinax::data
