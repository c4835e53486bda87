#include <cmath>
#include <string>

#include "twinax/nn/t5.hpp"

#include "nn/checks.hpp"
#include "nn/unit_writer.hpp"

namespace twinax::nn {
namespace {

void check_shape(const T5Shape& shape) {
  check_positive("T5", "encoder blocks", shape.layers);
  check_positive("T5", "decoder blocks", shape.decoder_layers);
  check_positive("T5", "channels of width", shape.width);
  check_positive("T5", "heads", shape.heads);
  check_positive("T5", "channels a head", shape.head_width);
  check_positive("T5", "channels between the feed-forward's matrices", shape.feed_forward);
  check_positive("T5", "tokens of context", shape.context);
  check_positive("T5", "targets", shape.targets);
  check_positive("T5", "tokens of vocabulary", shape.vocabulary);
}

double root_inverse(std::int64_t inputs) {
  return 1 / std::sqrt(static_cast<double>(inputs));
}

/// One attention; the first of a stack has the position biases. q, k and v follow each other, so that they are one matrix.
void add_attention(UnitWriter& unit, const T5Shape& s, const std::string& layer, const char* kind, bool has_bias) {
  const std::string name = layer + "." + kind;
  const std::int64_t inner = s.heads * s.head_width;
  unit.matrix(name + ".q.weight", inner, s.width, root_inverse(s.width * s.head_width));
  unit.matrix(name + ".k.weight", inner, s.width, root_inverse(s.width));
  unit.matrix(name + ".v.weight", inner, s.width, root_inverse(s.width));
  unit.matrix(name + ".o.weight", s.width, inner, root_inverse(inner));
  if (has_bias) {
    unit.matrix(name + ".relative_attention_bias.weight", t5_buckets(false).buckets, s.heads, root_inverse(s.width), /*decays=*/false);
  }
  unit.vector(layer + ".layer_norm.weight", s.width, 1);
}

void add_feed_forward(UnitWriter& unit, const T5Shape& s, const std::string& layer) {
  unit.matrix(layer + ".DenseReluDense.wi_0.weight", s.feed_forward, s.width, root_inverse(s.width));
  unit.matrix(layer + ".DenseReluDense.wi_1.weight", s.feed_forward, s.width, root_inverse(s.width));
  unit.matrix(layer + ".DenseReluDense.wo.weight", s.width, s.feed_forward, root_inverse(s.feed_forward));
  unit.vector(layer + ".layer_norm.weight", s.width, 1);
}

}  // namespace

std::vector<UnitSpec> t5_units(const T5Shape& shape) {
  check_shape(shape);
  std::vector<UnitSpec> units;
  UnitWriter root("root");
  root.matrix("shared.weight", shape.vocabulary, shape.width, 1);
  root.vector("encoder.final_layer_norm.weight", shape.width, 1);
  root.vector("decoder.final_layer_norm.weight", shape.width, 1);
  root.matrix("lm_head.weight", shape.vocabulary, shape.width, root_inverse(shape.width));
  units.push_back(root.finish());
  for (std::int64_t block = 0; block < shape.layers; ++block) {
    const std::string name = "encoder.block." + std::to_string(block);
    UnitWriter unit(name);
    add_attention(unit, shape, name + ".layer.0", "SelfAttention", block == 0);
    add_feed_forward(unit, shape, name + ".layer.1");
    units.push_back(unit.finish());
  }
  for (std::int64_t block = 0; block < shape.decoder_layers; ++block) {
    const std::string name = "decoder.block." + std::to_string(block);
    UnitWriter unit(name);
    add_attention(unit, shape, name + ".layer.0", "SelfAttention", block == 0);
    add_attention(unit, shape, name + ".layer.1", "EncDecAttention", false);
    add_feed_forward(unit, shape, name + ".layer.2");
    units.push_back(unit.finish());
  }
  return units;
}

}  // namespace twinax::nn
