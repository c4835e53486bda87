#pragma once

#include <utility>
#include <vector>

#include "twinax/step/cost.hpp"

namespace twinax::step::test {

/// Costs by op, in program order.
class TableCost final : public Cost {
 public:
  explicit TableCost(std::vector<double> seconds) : seconds_(std::move(seconds)) {}
  [[nodiscard]] Seconds seconds(const StepGraph& /*graph*/, OpId op) const override { return {seconds_.at(op.index)}; }

 private:
  std::vector<double> seconds_;
};

}  // namespace twinax::step::test
