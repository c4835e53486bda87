#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "twinax/nn/t5.hpp"

namespace twinax::nn::test {

using Rows = std::vector<std::vector<double>>;

/// T5's loss of one sequence straight from its definition, by loops over names and rows: the slow twin of make_t5.
class T5Reference {
 public:
  T5Reference(const T5Shape& shape, const std::vector<UnitSpec>& units, const std::vector<std::vector<double>>& parameters)
      : shape_(shape) {
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      for (const ParameterSpec& parameter : units[unit].parameters) {
        const auto begin = parameters[unit].begin() + parameter.offset;
        Rows rows;
        const std::int64_t columns = parameter.shape.back();
        for (std::int64_t row = 0; row < parameter.elements() / columns; ++row) {
          rows.emplace_back(begin + row * columns, begin + (row + 1) * columns);
        }
        tensors_[parameter.name] = rows;
      }
    }
  }

  /// The losses of the targets, summed.
  [[nodiscard]] double loss(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) const {
    Rows x = embed(inputs);
    for (std::int64_t block = 0; block < shape_.layers; ++block) {
      const std::string name = "encoder.block." + std::to_string(block);
      const Rows normed = norm(x, name + ".layer.0.layer_norm.weight");
      add(x, attend(name + ".layer.0.SelfAttention", normed, normed, "encoder"));
      add(x, feed_forward(norm(x, name + ".layer.1.layer_norm.weight"), name + ".layer.1.DenseReluDense"));
    }
    const Rows encoded = norm(x, "encoder.final_layer_norm.weight");
    std::vector<std::int32_t> before{0};
    before.insert(before.end(), targets.begin(), targets.end() - 1);
    Rows y = embed(before);
    for (std::int64_t block = 0; block < shape_.decoder_layers; ++block) {
      const std::string name = "decoder.block." + std::to_string(block);
      const Rows normed = norm(y, name + ".layer.0.layer_norm.weight");
      add(y, attend(name + ".layer.0.SelfAttention", normed, normed, "decoder"));
      add(y, attend(name + ".layer.1.EncDecAttention", norm(y, name + ".layer.1.layer_norm.weight"), encoded, ""));
      add(y, feed_forward(norm(y, name + ".layer.2.layer_norm.weight"), name + ".layer.2.DenseReluDense"));
    }
    const Rows logits = times(norm(y, "decoder.final_layer_norm.weight"), tensors_.at("lm_head.weight"));
    double sum = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      double total = 0;
      for (const double logit : logits[i]) total += std::exp(logit);
      sum += std::log(total) - logits[i][static_cast<std::size_t>(targets[i])];
    }
    return sum;
  }

 private:
  static void add(Rows& x, const Rows& branch) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t c = 0; c < x[i].size(); ++c) x[i][c] += branch[i][c];
    }
  }
  /// x w^T.
  static Rows times(const Rows& x, const Rows& w) {
    Rows y(x.size(), std::vector<double>(w.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t o = 0; o < w.size(); ++o) {
        for (std::size_t c = 0; c < x[i].size(); ++c) y[i][o] += x[i][c] * w[o][c];
      }
    }
    return y;
  }
  [[nodiscard]] Rows embed(std::span<const std::int32_t> tokens) const {
    Rows x;
    for (const std::int32_t token : tokens) x.push_back(tensors_.at("shared.weight")[static_cast<std::size_t>(token)]);
    return x;
  }
  [[nodiscard]] Rows norm(Rows x, const std::string& name) const {
    const std::vector<double>& weight = tensors_.at(name)[0];
    for (auto& row : x) {
      double squares = 0;
      for (const double value : row) squares += value * value;
      const double root = std::sqrt(squares / static_cast<double>(row.size()) + 1e-6);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = row[c] / root * weight[c];
    }
    return x;
  }
  [[nodiscard]] Rows feed_forward(const Rows& x, const std::string& name) const {
    Rows u = times(x, tensors_.at(name + ".wi_0.weight"));
    const Rows gate = times(x, tensors_.at(name + ".wi_1.weight"));
    for (std::size_t i = 0; i < u.size(); ++i) {
      for (std::size_t f = 0; f < u[i].size(); ++f) {
        const double v = u[i][f];
        u[i][f] = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v))) * gate[i][f];
      }
    }
    return times(u, tensors_.at(name + ".wo.weight"));
  }
  /// The position bias of a stack ("" = none); the decoder's is causal.
  [[nodiscard]] double bias(const std::string& stack, std::size_t head, std::int64_t query, std::int64_t key) const {
    if (stack.empty()) return 0;
    const std::int64_t distance = query - key;
    std::int64_t bucket = 0;
    if (stack == "encoder") {  // sequences of these tests are short: each distance below 8 has its own bucket
      bucket = distance < 0 ? 16 - distance : distance;
    } else {
      bucket = distance;
    }
    return tensors_.at(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight")[static_cast<std::size_t>(bucket)][head];
  }
  [[nodiscard]] Rows attend(const std::string& name, const Rows& x, const Rows& from, const std::string& stack) const {
    const Rows q = times(x, tensors_.at(name + ".q.weight"));
    const Rows k = times(from, tensors_.at(name + ".k.weight"));
    const Rows v = times(from, tensors_.at(name + ".v.weight"));
    const auto d = static_cast<std::size_t>(shape_.head_width);
    Rows out(x.size(), std::vector<double>(q[0].size()));
    for (std::size_t head = 0; head < static_cast<std::size_t>(shape_.heads); ++head) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<double> weights;
        double total = 0;
        for (std::size_t j = 0; j < (stack == "decoder" ? i + 1 : from.size()); ++j) {
          double score = bias(stack, head, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
          for (std::size_t c = head * d; c < (head + 1) * d; ++c) score += q[i][c] * k[j][c];
          weights.push_back(std::exp(score));
          total += weights.back();
        }
        for (std::size_t j = 0; j < weights.size(); ++j) {
          for (std::size_t c = head * d; c < (head + 1) * d; ++c) out[i][c] += weights[j] / total * v[j][c];
        }
      }
    }
    return times(out, tensors_.at(name + ".o.weight"));
  }

  T5Shape shape_;
  std::map<std::string, Rows> tensors_;
};

}  // namespace twinax::nn::test
