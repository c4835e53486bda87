#include "twinax/fsdp/prefetch.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace twinax::fsdp {
namespace {

std::vector<nn::Stage> gpt_stages(int blocks) {
  std::vector<nn::Stage> stages{{"embed", 0}};
  for (int b = 0; b < blocks; ++b) stages.push_back({"h." + std::to_string(b), b + 1});
  stages.push_back({"head", 0});
  return stages;
}

TEST(TrainingUses, GatherEveryBlockTwiceButTheLastAndTheRootOnce) {
  std::map<int, int> gathers;
  std::map<int, int> releases;
  for (const Use& use : training_uses(gpt_stages(3), 1)) {
    gathers[use.unit] += use.gathers ? 1 : 0;
    releases[use.unit] += use.releases ? 1 : 0;
  }
  EXPECT_EQ(gathers, (std::map<int, int>{{0, 1}, {1, 2}, {2, 2}, {3, 1}}));
  EXPECT_EQ(releases, gathers);
}

TEST(TrainingUses, RunBackwardInReverse) {
  std::vector<std::string> order;
  const auto stages = gpt_stages(2);
  for (const Use& use : training_uses(stages, 1)) order.push_back((use.backward ? "-" : "+") + stages[use.stage].name);
  EXPECT_EQ(order, (std::vector<std::string>{"+embed", "+h.0", "+h.1", "+head", "-head", "-h.1", "-h.0", "-embed"}));
}

TEST(TrainingUses, RepeatForEachMicroBatchWithTheRootGatheredOnce) {
  const auto uses = training_uses(gpt_stages(2), 3);
  EXPECT_EQ(uses.size(), 3U * 8U);
  EXPECT_EQ(std::ranges::count_if(uses, [](const Use& use) { return use.unit == 0 && use.gathers; }), 1);
  EXPECT_EQ(std::ranges::count_if(uses, [](const Use& use) { return use.unit == 2 && use.gathers; }), 3);
  EXPECT_TRUE(uses.back().releases);
}

TEST(TrainingUses, OfOneBlockKeepItThroughTheWholeStep) {
  // Forward, backward, and the next forward follow each other with only the root between.
  int gathers = 0;
  for (const Use& use : training_uses(gpt_stages(1), 2)) gathers += use.unit == 1 && use.gathers ? 1 : 0;
  EXPECT_EQ(gathers, 1);
}

TEST(TrainingUses, ThatAreKeptGatherEveryUnitOnceAndReleaseItAfterItsLastUse) {
  const auto uses = training_uses(gpt_stages(3), 2, true);
  std::map<int, std::size_t> first;
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    first.try_emplace(uses[i].unit, i);
    last[uses[i].unit] = i;
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    EXPECT_EQ(uses[i].gathers, first[uses[i].unit] == i) << i;
    EXPECT_EQ(uses[i].releases, last[uses[i].unit] == i) << i;
    if (uses[i].unit != 0) {
      EXPECT_EQ(uses[i].group, uses[i].unit - 1) << i;
    }
  }
}

TEST(EvaluationUses, GatherEveryUnitOnce) {
  std::map<int, int> gathers;
  for (const Use& use : evaluation_uses(gpt_stages(3))) gathers[use.unit] += use.gathers ? 1 : 0;
  EXPECT_EQ(gathers, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
}

TEST(EffectivePrefetch, LeavesRoomForTheUnitInUse) {
  EXPECT_EQ(effective_prefetch(3, 2), 1);
  EXPECT_EQ(effective_prefetch(1, 1), 0);
  EXPECT_EQ(effective_prefetch(1, 4), 1);
  EXPECT_EQ(effective_prefetch(5, 0), 5) << "0 is unlimited";
}

}  // namespace
}  // namespace twinax::fsdp
