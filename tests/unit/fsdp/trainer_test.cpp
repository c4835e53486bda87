#include "twinax/fsdp/trainer.hpp"

#include <cmath>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/collective/own_collectives.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/tensor/matmul.hpp"

#include "support/run_loopback.hpp"

namespace twinax::fsdp {
namespace {

constexpr std::int64_t kContext = 16;
constexpr std::int64_t kVocabulary = 32;
constexpr nn::GptShape kShape{.layers = 3, .width = 16, .heads = 2, .context = kContext, .vocabulary = kVocabulary, .tied = true};

/// What a run of some steps showed, the same on all ranks.
struct Curve {
  std::vector<double> losses;
  std::vector<double> norms;
  std::int64_t gathered_peak = 0;
  std::int64_t reductions_peak = 0;
  std::int64_t state_bytes = 0;
};

std::vector<std::int32_t> tokens_of(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t global_batch) {
  std::vector<std::int32_t> tokens;
  const Philox random(7, Draw::Test);
  for (std::int64_t i = first; i < first + count; ++i) {
    for (std::int64_t t = 0; t <= kContext; ++t) {
      // A text with structure: each token mostly follows from the one before.
      const std::uint64_t index = static_cast<std::uint64_t>(((step * global_batch) + i) * (kContext + 1) + t);
      const auto drawn = static_cast<std::int32_t>(random.bits(index) % kVocabulary);
      tokens.push_back(t > 0 && drawn % 4 != 0 ? (tokens.back() * 3 + 1) % static_cast<std::int32_t>(kVocabulary) : drawn);
    }
  }
  return tokens;
}

/// The backends of matrix products, which are chosen by time, of each rank.
using Choices = std::vector<std::vector<tensor::Choice>>;

/// `choices`, if not null, are used where they are there and given back.
Curve train(int ranks, TrainerOptions options, std::int64_t global_batch, std::int64_t micro_batch, int steps, Choices* choices = nullptr) {
  Curve curve;
  if (choices != nullptr) choices->resize(static_cast<std::size_t>(ranks));
  std::mutex mutex;
  test::run_loopback(ranks, [&](net::Transport& transport) {
    const std::int64_t rank = transport.rank();
    const std::int64_t first = global_batch * rank / ranks;
    const std::int64_t count = global_batch * (rank + 1) / ranks - first;
    const std::int64_t largest = (global_batch + ranks - 1) / ranks;
    TrainerOptions mine = options;
    mine.micro_batch = micro_batch == 0 ? largest : micro_batch;
    mine.micro_batches = (largest + mine.micro_batch - 1) / mine.micro_batch;
    tensor::Matmul matmul;
    if (choices != nullptr) matmul.set_choices((*choices)[static_cast<std::size_t>(rank)]);
    const auto model = nn::make_gpt<float>(kShape, mine.micro_batch, matmul);
    const auto collectives = collective::make_own(transport, collective::Group::first(ranks, transport.rank()), {});
    SystemClock clock;
    step::Arena arena;
    step::LiveExecutor executor(clock, arena, {});
    Trainer trainer(*model, *collectives, executor, mine);
    Curve seen;
    for (int s = 0; s < steps; ++s) {
      const std::vector<std::int32_t> tokens = tokens_of(s, first, count, global_batch);
      const StepOutcome outcome =
          trainer.step(s, {.tokens = tokens, .sequences = count, .length = kContext, .global_tokens = global_batch * kContext});
      seen.losses.push_back(outcome.loss);
      seen.norms.push_back(outcome.gradient_norm);
      if (trainer.built().gathered) {
        seen.gathered_peak = std::max(seen.gathered_peak, outcome.run.pool_peaks[trainer.built().gathered->index]);
        seen.reductions_peak = std::max(seen.reductions_peak, outcome.run.pool_peaks[trainer.built().reductions->index]);
      }
    }
    seen.state_bytes = trainer.state_bytes().value;
    if (choices != nullptr) (*choices)[static_cast<std::size_t>(rank)] = matmul.choices();
    const std::scoped_lock lock(mutex);
    if (rank == 0) curve = seen;
  });
  return curve;
}

TrainerOptions options() {
  TrainerOptions options;
  options.optimizer.learning_rate = 1e-2;
  options.optimizer.steps = 20;
  options.optimizer.clip_norm = 0.5;
  return options;
}

const Curve& reference() {
  static const Curve curve = train(1, options(), 10, 0, 20);
  return curve;
}

void expect_same(const Curve& curve, const Curve& expected, double tolerance) {
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (std::size_t s = 0; s < curve.losses.size(); ++s) {
    EXPECT_NEAR(curve.losses[s], expected.losses[s], tolerance * expected.losses[s]) << "step " << s;
    EXPECT_NEAR(curve.norms[s], expected.norms[s], 10 * tolerance * expected.norms[s]) << "step " << s;
  }
}

class EveryNumberOfRanks : public ::testing::TestWithParam<std::tuple<int, Strategy, std::int64_t>> {};

TEST_P(EveryNumberOfRanks, TrainsAsOneRankDoes) {
  const auto [ranks, strategy, micro_batch] = GetParam();
  TrainerOptions mine = options();
  mine.strategy = strategy;
  expect_same(train(ranks, mine, 10, micro_batch, 20), reference(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Trainer, EveryNumberOfRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::Values(Strategy::Full, Strategy::Replicate),
                                            ::testing::Values(0, 2)));

TEST(Trainer, LearnsTheStructureOfItsText) {
  EXPECT_NEAR(reference().losses.front(), std::log(static_cast<double>(kVocabulary)), 0.05);
  EXPECT_LT(reference().losses.back(), 0.9 * reference().losses.front());
}

TEST(Trainer, GivesTheSameLossWhateverTheLimiterAndKeepsItsBound) {
  for (const std::int64_t limit : {1, 2, 3}) {
    for (const std::int64_t prefetch : {0, 1, 2}) {
      TrainerOptions mine = options();
      mine.limit = limit;
      mine.prefetch = prefetch;
      const Curve curve = train(2, mine, 10, 2, 6);
      EXPECT_LE(curve.gathered_peak, limit);
      EXPECT_LE(curve.reductions_peak, limit);
      for (std::size_t s = 0; s < curve.losses.size(); ++s)
        EXPECT_NEAR(curve.losses[s], reference().losses[s], 1e-5 * reference().losses[s]);
    }
  }
}

TEST(Trainer, TrainsWithARankThatHasNoSequences) {
  TrainerOptions mine = options();
  expect_same(train(4, mine, 3, 0, 5), train(1, mine, 3, 0, 5), 1e-5);
}

TEST(Trainer, OfTwoRunsWithTheSameChoicesGivesTheSameBits) {
  Choices choices;
  const Curve a = train(3, options(), 10, 0, 6, &choices);
  const Curve b = train(3, options(), 10, 0, 6, &choices);
  for (std::size_t s = 0; s < a.losses.size(); ++s) EXPECT_EQ(a.losses[s], b.losses[s]) << "step " << s;
}

TEST(Trainer, HoldsSixteenBytesForEachParameterOverTheRanks) {
  std::int64_t parameters = 0;
  for (const nn::UnitSpec& unit : nn::gpt_units(kShape)) parameters += unit.elements;
  for (const int ranks : {1, 2, 4}) {
    const double expected = 16.0 * static_cast<double>(parameters) / ranks;
    EXPECT_NEAR(static_cast<double>(train(ranks, options(), 4, 0, 1).state_bytes), expected, 0.05 * expected) << ranks;
  }
}

TEST(Trainer, ConvergesWithBf16OnTheWire) {
  TrainerOptions mine = options();
  mine.wire = Dtype::Bf16;
  const Curve curve = train(2, mine, 10, 0, 20);
  EXPECT_NEAR(curve.losses.back(), reference().losses.back(), 0.02 * reference().losses.back());
  EXPECT_NE(curve.losses.back(), reference().losses.back()) << "bf16 rounds";
}

TEST(Trainer, RefusesAnEmptyWindow) {
  TrainerOptions mine = options();
  mine.limit = 0;
  EXPECT_THROW((void)train(2, mine, 4, 0, 1), InvalidArgument);
}

}  // namespace
}  // namespace twinax::fsdp
