#include "twinax/fsdp/measure_compute.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/base/error.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/step/arena.hpp"
#include "twinax/tensor/matmul.hpp"

namespace twinax::fsdp {
namespace {

constexpr nn::GptShape kShape{.layers = 6, .width = 32, .heads = 2, .context = 16, .vocabulary = 64, .tied = true};

/// A model with memory of its own, so that the arena holds what is measured with alone.
struct Measured {
  explicit Measured(Bytes budget = {0}) : arena(budget), model(nn::make_gpt<float>(kShape, 1, matmul)) {}
  ComputeTimes measure(int shards, int repeats) {
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(kShape.context + 1), 3);
    const nn::TokenBatch batch{.tokens = tokens, .sequences = 1, .length = kShape.context};
    return measure_compute(*model, batch, {.shards = shards, .repeats = repeats, .memory = &arena.resource("measuring")}, clock);
  }
  [[nodiscard]] std::int64_t elements(std::size_t unit) const { return model->units()[unit].elements; }
  SystemClock clock;
  step::Arena arena;
  tensor::Matmul matmul;
  std::unique_ptr<nn::Model<float>> model;
};

TEST(MeasureCompute, TimesEveryStageAndUnit) {
  Measured measured;
  const ComputeTimes times = measured.measure(2, 3);
  EXPECT_EQ(times.forward.size(), measured.model->stages().size());
  EXPECT_EQ(times.backward.size(), measured.model->stages().size());
  EXPECT_EQ(times.optimize.size(), measured.model->units().size());
  Seconds sum{0};
  for (const auto* stages : {&times.forward, &times.backward}) {
    for (const Seconds time : *stages) {
      EXPECT_GT(time, Seconds{0});
      sum += time;
    }
  }
  EXPECT_DOUBLE_EQ(times.stages().value, sum.value);
  Flops flops{0};
  for (std::size_t s = 0; s < measured.model->stages().size(); ++s) {
    flops += measured.model->forward_flops(s, 1) + measured.model->backward_flops(s, 1);
  }
  EXPECT_EQ(times.flops, flops);
}

TEST(MeasureCompute, HoldsTheRootOneBlockAndOneUnitsGradientsAtMost) {
  Measured measured;
  (void)measured.measure(2, 2);
  const std::int64_t root = measured.elements(0);
  const std::int64_t block = measured.elements(1);
  EXPECT_EQ(measured.arena.memory_use().allocated_peak, Bytes{4 * (root + block + std::max(root, block))});
  EXPECT_EQ(measured.arena.allocated(), Bytes{0}) << "and nothing when it is over";
}

TEST(MeasureCompute, SaysWhoHoldsWhatWhereTheBudgetDoesNotDo) {
  Measured measured(Bytes{4 * kShape.width * kShape.width});
  try {
    (void)measured.measure(1, 1);
    FAIL() << "the budget is smaller than the root";
  } catch (const OutOfBudget& error) {
    EXPECT_NE(std::string(error.what()).find("\"measuring\" takes"), std::string::npos) << error.what();
  }
  EXPECT_EQ(measured.arena.allocated(), Bytes{0});
}

}  // namespace
}  // namespace twinax::fsdp
