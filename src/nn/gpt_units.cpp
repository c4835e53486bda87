#include <cmath>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/nn/gpt.hpp"

#include "nn/checks.hpp"
#include "nn/unit_writer.hpp"

namespace twinax::nn {
namespace {

void add_layer_norm(UnitWriter& unit, const std::string& name, std::int64_t width) {
  unit.vector(name + ".weight", width, 1);
  unit.vector(name + ".bias", width, 0);
}

void add_linear(UnitWriter& unit, const std::string& name, std::int64_t outputs, std::int64_t inputs, double stddev) {
  unit.matrix(name + ".weight", outputs, inputs, stddev);
  unit.vector(name + ".bias", outputs, 0);
}

void check_shape(const GptShape& shape) {
  check_positive("GPT", "layers", shape.layers);
  check_positive("GPT", "channels of width", shape.width);
  check_positive("GPT", "heads", shape.heads);
  check_positive("GPT", "tokens of context", shape.context);
  check_positive("GPT", "tokens of vocabulary", shape.vocabulary);
  if (shape.width % shape.heads != 0) {
    throw InvalidArgument("a GPT of width " + std::to_string(shape.width) + " with " + std::to_string(shape.heads) +
                          " heads: the heads must divide the width");
  }
}

}  // namespace

std::vector<UnitSpec> gpt_units(const GptShape& shape) {
  check_shape(shape);
  constexpr double kStddev = 0.02;
  const double residual_stddev = kStddev / std::sqrt(2.0 * static_cast<double>(shape.layers));
  const std::int64_t c = shape.width;
  std::vector<UnitSpec> units;
  UnitWriter root("root");
  root.matrix("wte.weight", shape.vocabulary, c, kStddev);
  root.matrix("wpe.weight", shape.context, c, kStddev);
  add_layer_norm(root, "ln_f", c);
  if (!shape.tied) root.matrix("lm_head.weight", shape.vocabulary, c, kStddev);
  units.push_back(root.finish());
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "h." + std::to_string(layer);
    UnitWriter block(name);
    add_layer_norm(block, name + ".ln_1", c);
    add_linear(block, name + ".attn.c_attn", 3 * c, c, kStddev);
    add_linear(block, name + ".attn.c_proj", c, c, residual_stddev);
    add_layer_norm(block, name + ".ln_2", c);
    add_linear(block, name + ".mlp.c_fc", 4 * c, c, kStddev);
    add_linear(block, name + ".mlp.c_proj", c, 4 * c, residual_stddev);
    units.push_back(block.finish());
  }
  return units;
}

}  // namespace twinax::nn
