#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "twinax/nn/gpt.hpp"
#include "twinax/nn/t5.hpp"

#include "support/central_differences.hpp"

namespace twinax::nn::test {

template <class Real>
std::unique_ptr<Model<Real>> make(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, bool checkpoints) {
  return make_gpt<Real>(shape, max_sequences, matmul, {}, checkpoints);
}
template <class Real>
std::unique_ptr<Model<Real>> make(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, bool checkpoints) {
  return make_t5<Real>(shape, max_sequences, matmul, {}, checkpoints);
}
/// How far parameters are drawn from 0: so far that all parts of a tiny model matter.
constexpr double spread(const GptShape& /*shape*/) {
  return 0.3;
}
constexpr double spread(const T5Shape& /*shape*/) {
  return 0.4;
}

/// A model with its parameters and gradients, unit by unit.
template <class Real>
struct Trained {
  tensor::Matmul matmul;
  std::unique_ptr<Model<Real>> model;
  std::vector<std::vector<Real>> parameters, gradients;

  template <class Shape>
  Trained(const Shape& shape, std::int64_t max_sequences, bool checkpoints = false)
      : model(make<Real>(shape, max_sequences, matmul, checkpoints)) {
    for (std::size_t unit = 0; unit < model->units().size(); ++unit) {
      const std::int64_t elements = model->units()[unit].elements;
      const std::vector<double> drawn = twinax::test::normal_numbers(elements, static_cast<std::uint32_t>(unit), spread(shape));
      parameters.emplace_back(drawn.begin(), drawn.end());
      gradients.emplace_back(static_cast<std::size_t>(elements), Real(0));
    }
  }
  std::vector<Real>& unit_of(std::size_t stage, std::vector<std::vector<Real>>& units) {
    return units[static_cast<std::size_t>(model->stages()[stage].unit)];
  }
  double forward(const TokenBatch& batch) {
    model->start(batch);
    for (std::size_t stage = 0; stage < model->stages().size(); ++stage) model->forward(stage, unit_of(stage, parameters));
    return model->loss_sum();
  }
  void backward(Real scale, bool recomputes = false) {
    for (std::size_t stage = model->stages().size(); stage-- > 0;) {
      if (recomputes && model->stages()[stage].unit != 0) model->forward(stage, unit_of(stage, parameters));
      model->backward(stage, unit_of(stage, parameters), unit_of(stage, gradients), scale);
    }
  }
};

inline std::vector<std::int32_t> tokens_below(std::int64_t vocabulary, std::int64_t count) {
  const Philox random(3, Draw::Test);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(vocabulary));
  }
  return tokens;
}

/// Expects the gradients of a batch to be central differences of its loss.
template <class Shape>
void expect_gradients_of(const Shape& shape, const TokenBatch& batch) {
  Trained<double> trained(shape, batch.sequences);
  constexpr double kScale = 0.25;
  (void)trained.forward(batch);
  trained.backward(kScale);
  for (std::size_t unit = 0; unit < trained.parameters.size(); ++unit) {
    const std::string name(trained.model->units()[unit].name);
    const std::vector<double> analytic = trained.gradients[unit];
    twinax::test::expect_gradient(name.c_str(), trained.parameters[unit], analytic, [&] { return kScale * trained.forward(batch); });
  }
}

/// Asserts that the gradients are `factor` times the others.
inline void assert_gradients(const std::vector<std::vector<double>>& gradients, const std::vector<std::vector<double>>& others,
                             double factor = 1) {
  for (std::size_t unit = 0; unit < others.size(); ++unit) {
    for (std::size_t i = 0; i < others[unit].size(); ++i) ASSERT_NEAR(gradients[unit][i], factor * others[unit][i], 1e-12);
  }
}

/// Expects a model in single precision to lose what it loses in double, and its gradients to be those.
inline void expect_same_in_single_precision(Trained<double>& exact, Trained<float>& single, const TokenBatch& batch, double targets) {
  const double wanted = exact.forward(batch);
  EXPECT_NEAR(single.forward(batch), wanted, 1e-5 * wanted);
  exact.backward(1.0 / targets);
  single.backward(1.0F / static_cast<float>(targets));
  for (std::size_t unit = 0; unit < exact.gradients.size(); ++unit) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < exact.gradients[unit].size(); ++i) {
      difference += std::pow(single.gradients[unit][i] - exact.gradients[unit][i], 2);
      norm += std::pow(exact.gradients[unit][i], 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 1e-5) << unit;
  }
}

/// Expects a second run to give the same bits.
inline void expect_same_bits_again(Trained<float>& trained, const TokenBatch& batch) {
  const double first = trained.forward(batch);
  trained.backward(1.0F);
  const auto gradients = trained.gradients;
  for (auto& unit : trained.gradients) std::fill(unit.begin(), unit.end(), 0.0F);
  EXPECT_EQ(trained.forward(batch), first);
  trained.backward(1.0F);
  EXPECT_EQ(trained.gradients, gradients);
}

/// Expects sequences, each a row of `tokens`, to lose and to learn together what they do one by one.
template <class Shape>
void expect_sequences_apart(const Shape& shape, std::span<const std::int32_t> tokens, const RowShape& row) {
  const auto width = static_cast<std::size_t>(row.tokens());
  const auto count = static_cast<std::int64_t>(tokens.size() / width);
  Trained<double> together(shape, count), alone(shape, count);
  const double sum = together.forward({tokens, count, row.length, row.targets});
  together.backward(1.0);
  double sum_alone = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b) {
    sum_alone += alone.forward({tokens.subspan(b * width, width), 1, row.length, row.targets});
    alone.backward(1.0);
  }
  EXPECT_NEAR(sum, sum_alone, 1e-12 * sum);
  assert_gradients(together.gradients, alone.gradients);
}

/// A unit's parameters: "name extent extent decays".
inline std::vector<std::string> lines_of(const UnitSpec& unit) {
  std::vector<std::string> lines;
  for (const ParameterSpec& parameter : unit.parameters) {
    std::ostringstream line;
    line << parameter.name;
    for (const std::int64_t extent : parameter.shape) line << ' ' << extent;
    if (parameter.decays) line << " decays";
    lines.push_back(line.str());
  }
  return lines;
}

/// Expects a unit's parameters to follow each other, and to be all of it.
inline void expect_no_gaps(const UnitSpec& unit) {
  std::int64_t offset = 0;
  for (const ParameterSpec& parameter : unit.parameters) {
    EXPECT_EQ(parameter.offset, offset) << parameter.name;
    offset += parameter.elements();
  }
  EXPECT_EQ(offset, unit.elements);
}

}  // namespace twinax::nn::test
