#include "twinax/step/cost.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "twinax/step/virtual_executor.hpp"

#include "unit/step/random_graph.hpp"
#include "unit/step/table_cost.hpp"

namespace twinax::step {
namespace {

/// Remembers what it was asked, and counts a second for each operation.
class AskedCost final : public Cost {
 public:
  explicit AskedCost(std::vector<OpId>& asked) : asked_(asked) {}
  ~AskedCost() override { asked_.clear(); }
  [[nodiscard]] Seconds seconds(const StepGraph& graph, OpId op) const override {
    asked_.push_back(op);
    return {graph[op].flops.value};
  }

 private:
  std::vector<OpId>& asked_;
};

StepGraph three_ops() {
  StepGraph graph;
  for (int i = 0; i < 3; ++i) {
    Op op = test::make_op(LaneKind::Compute, "op");
    op.flops = Flops{1.5};
    graph.add(op);
  }
  return graph;
}

TEST(Cost, IsAskedOnceForEachOpInProgramOrder) {
  std::vector<OpId> asked;
  const AskedCost cost(asked);
  (void)run_virtual(three_ops(), cost, {});
  EXPECT_EQ(asked, (std::vector{OpId{0}, OpId{1}, OpId{2}}));
}

TEST(Cost, SeesTheGraphThatTheOpIsOf) {
  std::vector<OpId> asked;
  EXPECT_EQ(run_virtual(three_ops(), AskedCost(asked), {}).duration(), Seconds{4.5});
}

TEST(Cost, EndsThroughItsInterface) {
  std::vector<OpId> asked{OpId{0}};
  std::unique_ptr<Cost> cost = std::make_unique<AskedCost>(asked);
  cost.reset();
  EXPECT_TRUE(asked.empty()) << "the derived class's destructor has run";
}

TEST(Cost, OfATableIsTheTables) {
  const test::TableCost cost({3, 0.25});
  EXPECT_EQ(cost.seconds(StepGraph{}, {1}), Seconds{0.25});
}

}  // namespace
}  // namespace twinax::step
