// Times training steps (forward, backward, AdamW) of one rank, and the step's matrix products alone, in turns.
// gpt_bench small|tiny [rounds] [steps a round]: one line a round, then medians. Times are the thread's CPU time, which other load moves
// least.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "twinax/base/clock.hpp"
#include "twinax/base/philox.hpp"
#include "twinax/nn/gpt.hpp"
#include "twinax/tensor/buffer.hpp"
#include "twinax/tensor/kernels.hpp"

namespace twinax {
namespace {

struct Workload {
  nn::GptShape shape;
  std::int64_t sequences;
};

/// The models of the peers' table: sequences of 256 tokens.
Workload workload(const std::string& name) {
  if (name == "tiny") return {{.layers = 4, .width = 128, .heads = 4, .context = 256, .vocabulary = 256, .tied = true}, 8};
  if (name == "small") return {{.layers = 4, .width = 256, .heads = 8, .context = 256, .vocabulary = 8192, .tied = true}, 4};
  fmt::print(stderr, "gpt_bench: no model \"{}\"; there are small and tiny\n", name);
  std::exit(2);
}

/// A unit's state, all in one rank.
struct Unit {
  tensor::Buffer<float> parameters, gradients, first_moments, second_moments;
  std::vector<tensor::ElementRange> decays;
};

class Trainer {
 public:
  explicit Trainer(const Workload& w) : workload_(w), model_(nn::make_gpt<float>(w.shape, w.sequences, matmul_)) {
    nn::prepare_gpt(w.shape, tensor::Precision::Fp32, w.sequences, w.shape.context, matmul_);
    for (std::size_t u = 0; u < model_->units().size(); ++u) {
      const nn::UnitSpec& spec = model_->units()[u];
      Unit unit{tensor::Buffer<float>(spec.elements),
                tensor::Buffer<float>(spec.elements),
                tensor::Buffer<float>(spec.elements),
                tensor::Buffer<float>(spec.elements),
                {}};
      nn::initialize<float>(spec, u, 1, 0, unit.parameters.span());
      for (const nn::ParameterSpec& p : spec.parameters) {
        if (p.decays) unit.decays.push_back({p.offset, p.offset + p.elements()});
      }
      units_.push_back(std::move(unit));
    }
    const Philox random(1, Draw::Test);
    tokens_.resize(static_cast<std::size_t>(w.sequences * (w.shape.context + 1)));
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      tokens_[i] = static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(w.shape.vocabulary));
    }
    set_up_products();
  }

  /// The mean loss before the step.
  double step() {
    const auto stages = model_->stages();
    const auto scale = 1.0F / static_cast<float>(tokens());
    model_->start({tokens_, workload_.sequences, workload_.shape.context});
    for (std::size_t s = 0; s < stages.size(); ++s) model_->forward(s, unit_of(stages[s]).parameters.span());
    for (std::size_t s = stages.size(); s-- > 0;) {
      model_->backward(s, unit_of(stages[s]).parameters.span(), unit_of(stages[s]).gradients.span(), scale);
    }
    tensor::AdamW settings{.weight_decay = 0.1, .step = ++steps_};
    for (Unit& u : units_) {
      tensor::adamw_update<float>(settings, u.decays, u.gradients.span(), u.parameters.span(), u.first_moments.span(),
                                  u.second_moments.span());
      std::fill(u.gradients.span().begin(), u.gradients.span().end(), 0.0F);
    }
    return model_->loss_sum() * static_cast<double>(scale);
  }

  /// The same products as a step's, on operands of their size, and nothing else.
  void products_alone() {
    for (const nn::GptProduct& p : products_) {
      const bool transpose_a = p.product.form == tensor::Form::TN;
      const bool transpose_b = p.product.form == tensor::Form::NT;
      const auto& [precision, form, into, m, n, k, stride_a, stride_b, stride_c] = p.product;
      const tensor::Matrix<const float> a{left_.span(), transpose_a ? k : m, transpose_a ? m : k, stride_a};
      const tensor::Matrix<const float> b{right_.span(), transpose_b ? n : k, transpose_b ? k : n, stride_b};
      const tensor::Matrix<float> c{out_.span(), m, n, stride_c};
      for (std::int64_t i = 0; i < p.times; ++i) matmul_.multiply<float>(form, a, b, c, into);
    }
  }

  [[nodiscard]] std::int64_t tokens() const { return workload_.sequences * workload_.shape.context; }
  [[nodiscard]] double flops() const {
    double total = 0;
    for (std::size_t s = 0; s < model_->stages().size(); ++s) {
      total += model_->forward_flops(s, workload_.sequences).value + model_->backward_flops(s, workload_.sequences).value;
    }
    return total;
  }
  [[nodiscard]] std::string choices() const { return to_text(matmul_.choices()); }

 private:
  Unit& unit_of(const nn::Stage& stage) { return units_[static_cast<std::size_t>(stage.unit)]; }
  void set_up_products() {
    const Workload& w = workload_;
    products_ = nn::gpt_products(w.shape, tensor::Precision::Fp32, w.sequences, w.shape.context);
    const std::int64_t widest = std::max(4 * w.shape.width, w.shape.vocabulary);
    left_ = tensor::Buffer<float>(tokens() * widest);
    right_ = tensor::Buffer<float>(std::max(tokens(), w.shape.vocabulary) * 4 * w.shape.width);
    out_ = tensor::Buffer<float>(tokens() * widest);
    std::fill(left_.span().begin(), left_.span().end(), 0.5F);
    std::fill(right_.span().begin(), right_.span().end(), 1e-9F);
  }

  Workload workload_;
  tensor::Matmul matmul_;
  std::unique_ptr<nn::Model<float>> model_;
  std::vector<Unit> units_;
  std::vector<std::int32_t> tokens_;
  std::vector<nn::GptProduct> products_;
  tensor::Buffer<float> left_, right_, out_;
  std::int64_t steps_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class F>
double cpu_seconds(F f) {
  const Seconds before = thread_cpu_time();
  f();
  return (thread_cpu_time() - before).value;
}

int run(const std::string& name, int rounds, int steps) {
  Trainer trainer(workload(name));
  fmt::print("{}", trainer.choices());
  double loss = trainer.step();
  trainer.products_alone();
  std::vector<double> step_s, products_s, ratios;
  for (int round = 0; round < rounds; ++round) {
    const double step = cpu_seconds([&] {
                          for (int i = 0; i < steps; ++i) loss = trainer.step();
                        }) /
                        steps;
    const double products = cpu_seconds([&] {
                              for (int i = 0; i < steps; ++i) trainer.products_alone();
                            }) /
                            steps;
    step_s.push_back(step);
    products_s.push_back(products);
    ratios.push_back(step / products);
    fmt::print("round {} step_s {:.5f} products_s {:.5f} ratio {:.3f}\n", round, step, products, step / products);
  }
  const double step = median(step_s);
  fmt::print("model {} loss {:.4f} step_s {:.5f} tokens_per_s {:.0f} gflop_per_s {:.1f} products_s {:.5f} ratio {:.3f}\n", name, loss, step,
             static_cast<double>(trainer.tokens()) / step, trainer.flops() / step * 1e-9, median(products_s), median(ratios));
  return 0;
}

}  // namespace
}  // namespace twinax

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "small";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const int steps = argc > 3 ? std::atoi(argv[3]) : 3;
  if (rounds < 1 || steps < 1) {
    fmt::print(stderr, "gpt_bench MODEL [ROUNDS] [STEPS]: rounds and steps are at least 1\n");
    return 2;
  }
  return twinax::run(name, rounds, steps);
}
