#pragma once

#include <cstdint>
#include <span>

namespace twinax::data {

/// How much of a text is hidden from the encoder.
struct SpanOptions {
  double noise_share = 0.15;  ///< of the tokens, in (0, 1)
  double mean_span = 3;       ///< tokens of a hidden span, on average; at least 1
};

/// The sizes of a corrupted sequence: the same for all sequences of as many tokens.
struct SpanSizes {
  std::int64_t text = 0;   ///< tokens of the text, at least 2
  std::int64_t noise = 0;  ///< of them hidden
  std::int64_t spans = 0;  ///< hidden spans, each replaced by a sentinel
  /// What the encoder reads: the tokens that are left, a sentinel a span, and an end.
  [[nodiscard]] std::int64_t inputs() const { return text - noise + spans + 1; }
  /// What the decoder predicts: each span behind its sentinel, and an end.
  [[nodiscard]] std::int64_t targets() const { return noise + spans + 1; }
  bool operator==(const SpanSizes&) const = default;
};
/// The sizes of `text` tokens. Throws InvalidArgument if there are fewer than 2, or about the options.
[[nodiscard]] SpanSizes span_sizes(std::int64_t text, const SpanOptions& options);
/// Those of the longest text whose inputs are at most `inputs` tokens. Throws InvalidArgument if there is none.
[[nodiscard]] SpanSizes longest_span_sizes(std::int64_t inputs, const SpanOptions& options);

/// Which ids mean what. 0 is padding and the decoder's start, 1 an end, 2 the unknown; text comes next, sentinels are at the top: the first
/// span's is vocabulary - 1, the next one's is below it.
struct SpanIds {
  static constexpr std::int64_t kReserved = 3;
  static constexpr std::int32_t kEnd = 1;
  std::int64_t shift = 0;       ///< what is added to a token of the text: kReserved, less what its tokenizer already leaves free
  std::int64_t text = 0;        ///< the tokenizer's vocabulary
  std::int64_t vocabulary = 0;  ///< the model's
};
/// The vocabulary that a model needs for a tokenizer's: with its sentinels (100 at least, as T5 has), and a multiple of 128.
[[nodiscard]] std::int64_t span_vocabulary(std::int64_t shift, std::int64_t text, std::int64_t spans);

/// Hides spans of text behind sentinels: what they hide is a pure function of (seed, series, sequence), the same for every number of ranks.
/// Every way to cut the noise into spans, and what is left into the runs before them, is equally likely.
///
/// Source:  Raffel et al., JMLR 21, 2020, section 3.1.4; T5's random_spans_noise_mask.
/// Threads: any.
class SpanCorruption {
 public:
  /// Throws InvalidArgument if the vocabulary has no room for the sentinels.
  SpanCorruption(const SpanSizes& sizes, const SpanIds& ids, std::uint64_t seed);

  [[nodiscard]] const SpanSizes& sizes() const { return sizes_; }
  /// Sets hidden [sizes().text] to 1 where a token is hidden, else to 0. `series` tells training (0) and evaluation (1) apart.
  void hide(std::uint32_t series, std::int64_t sequence, std::span<std::uint8_t> hidden) const;
  /// Writes inputs, then targets: text [sizes().text], out [sizes().inputs() + sizes().targets()].
  void corrupt(std::uint32_t series, std::int64_t sequence, std::span<const std::int32_t> text, std::span<std::int32_t> out) const;

 private:
  SpanSizes sizes_;
  SpanIds ids_;
  std::uint64_t seed_;
};

}  // namespace twinax::data
