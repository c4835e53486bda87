#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/fsdp/trainer.hpp"

#include "unit/fsdp/train_curve.hpp"

namespace twinax::fsdp {
namespace {

// What a run is made of. Each row is a choice, each number one of its values.
enum Choice : std::uint8_t {
  kRanks,
  kStrategy,
  kLimiter,
  kSide,
  kLimit,
  kPrefetch,
  kBackwardPrefetch,
  kMicroBatch,
  kAccumulate,
  kCheckpoint,
  kChoices
};
constexpr std::array<std::int64_t, kChoices> kValues{4, 5, 5, 2, 3, 3, 2, 3, 2, 2};
using Case = std::array<std::int64_t, kChoices>;

/// A set of cases in which every pair of values of two choices occurs: greedily, each case taking as many new pairs as it can, one choice
/// after the other.
class Pairwise {
 public:
  Pairwise() {
    for (std::size_t a = 0; a < kChoices; ++a) {
      for (std::size_t b = a + 1; b < kChoices; ++b) {
        for (std::int64_t x = 0; x < kValues[a]; ++x) {
          for (std::int64_t y = 0; y < kValues[b]; ++y) missing_.push_back({a, b, x, y});
        }
      }
    }
    while (!missing_.empty()) add(begin_with(missing_.front()));
  }
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

 private:
  struct Pair {
    std::size_t a, b;
    std::int64_t x, y;
  };
  using Partial = std::array<std::optional<std::int64_t>, kChoices>;
  static Partial begin_with(const Pair& pair) {
    Partial partial;
    partial[pair.a] = pair.x;
    partial[pair.b] = pair.y;
    return partial;
  }
  static bool has(const Partial& partial, const Pair& pair) { return partial[pair.a] == pair.x && partial[pair.b] == pair.y; }
  void add(Partial partial) {
    for (std::size_t c = 0; c < kChoices; ++c) {
      if (partial[c]) continue;
      std::int64_t best = 0;
      std::ptrdiff_t most = -1;
      for (std::int64_t value = 0; value < kValues[c]; ++value) {
        partial[c] = value;
        const std::ptrdiff_t gained = std::ranges::count_if(missing_, [&](const Pair& pair) { return has(partial, pair); });
        if (gained > most) best = value;
        most = std::max(most, gained);
      }
      partial[c] = best;
    }
    std::erase_if(missing_, [&](const Pair& pair) { return has(partial, pair); });
    Case& added = cases_.emplace_back();
    for (std::size_t c = 0; c < kChoices; ++c) added[c] = *partial[c];
  }
  std::vector<Pair> missing_;
  std::vector<Case> cases_;
};

constexpr std::int64_t kBatch = 10;
constexpr int kSteps = 6;

/// The case as a run; what can't be (nodes of 2 among 3 ranks) is nodes of one.
test::Curve run(const Case& choice, bool is_t5) {
  TrainerOptions options = test::learning_options();
  test::Layout layout{.ranks = static_cast<int>(choice[kRanks]) + 1, .global_batch = kBatch, .steps = kSteps, .is_t5 = is_t5};
  constexpr std::array kStrategies{Strategy::Full, Strategy::Keep, Strategy::Hybrid, Strategy::Hybrid, Strategy::Replicate};
  options.strategy = kStrategies[static_cast<std::size_t>(choice[kStrategy])];
  layout.ranks_per_node = choice[kStrategy] == 2 && layout.ranks % 2 == 0 ? 2 : choice[kStrategy] == 3 ? layout.ranks : 1;
  constexpr std::array kLimiters{Limiter::None, Limiter::Window, Limiter::Block, Limiter::Bytes, Limiter::PingPong};
  options.limiter = kLimiters[static_cast<std::size_t>(choice[kLimiter])];
  options.limiter_side = choice[kSide] == 0 ? step::WaitSide::Host : step::WaitSide::Lane;
  options.limit = choice[kLimit] + 1;
  options.limit_bytes = test::largest_block_bytes(layout) * options.limit;
  options.prefetch = choice[kPrefetch];
  options.backward_prefetch = choice[kBackwardPrefetch] == 0 ? BackwardPrefetch::Pre : BackwardPrefetch::Post;
  layout.micro_batch = choice[kMicroBatch];  // 0: all at once
  options.accumulate = choice[kAccumulate] == 0 ? Accumulate::Reduce : Accumulate::Local;
  options.checkpoint = choice[kCheckpoint] == 1;
  return test::train(layout, options);
}

TEST(Pairwise, HasEveryPairOfValues) {
  const Pairwise pairwise;
  for (std::size_t a = 0; a < kChoices; ++a) {
    for (std::size_t b = a + 1; b < kChoices; ++b) {
      for (std::int64_t x = 0; x < kValues[a]; ++x) {
        for (std::int64_t y = 0; y < kValues[b]; ++y) {
          EXPECT_TRUE(std::ranges::any_of(pairwise.cases(), [&](const Case& c) { return c[a] == x && c[b] == y; }));
        }
      }
    }
  }
  EXPECT_LE(pairwise.cases().size(), 40U);
}

void expect_truth(bool is_t5) {
  const test::Curve expected = test::train({.global_batch = kBatch, .steps = kSteps, .is_t5 = is_t5}, test::learning_options());
  const Pairwise pairwise;
  for (const Case& choice : pairwise.cases()) {
    std::string text;
    for (const std::int64_t value : choice) text += std::to_string(value) + " ";
    SCOPED_TRACE("ranks - 1, strategy, limiter, side, limit - 1, prefetch, backward prefetch, micro-batch, accumulation, checkpoint: " +
                 text);
    const test::Curve curve = run(choice, is_t5);
    ASSERT_EQ(curve.losses.size(), expected.losses.size());
    for (std::size_t s = 0; s < curve.losses.size(); ++s) {
      EXPECT_NEAR(curve.losses[s], expected.losses[s], 1e-5 * expected.losses[s]) << "step " << s;
      EXPECT_NEAR(curve.norms[s], expected.norms[s], 1e-4 * expected.norms[s]) << "step " << s;
    }
  }
}

TEST(Truth, OfOneRankIsThatOfEveryStrategyPrefetchAccumulationCheckpointAndLimiter) {
  expect_truth(/*is_t5=*/false);
}

TEST(Truth, OfAT5OnOneRankIsThatOfThemToo) {
  expect_truth(/*is_t5=*/true);
}

}  // namespace
}  // namespace twinax::fsdp
