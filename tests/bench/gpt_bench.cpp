// Times training steps (forward, backward, AdamW) of one rank, and the step's matrix products alone, in turns: those of its linear layers
// (linear_s), and attention's (attention_s: scores and sums of each head and their gradients, by the fastest backend, at half of their
// time, since half of a causal square is never needed). ratio = step_s / (linear_s + attention_s).
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

  /// The same products as the step's linear layers, on operands of their size, and nothing else.
  void linear_alone() {
    for (const nn::GptProduct& p : products_) {
      for (std::int64_t i = 0; i < p.times; ++i) multiply(p.product, 0, 0, 0);
    }
  }
  /// The products of all heads as whole squares: twice the causal half.
  void attention_alone() {
    const nn::GptShape& g = workload_.shape;
    const std::int64_t t = g.context;
    const std::int64_t d = g.width / g.heads;
    const std::int64_t wide = 3 * g.width;
    using enum tensor::Form;
    for (std::int64_t head = 0; head < workload_.sequences * g.heads; ++head) {
      const std::int64_t at = head / g.heads * t * wide + head % g.heads * d;
      for (std::int64_t layer = 0; layer < g.layers; ++layer) {
        multiply({.form = NT, .m = t, .n = t, .k = d, .stride_a = wide, .stride_b = wide, .stride_c = t}, at, at, 0);  // scores
        multiply({.form = NN, .m = t, .n = d, .k = t, .stride_a = t, .stride_b = wide, .stride_c = wide}, 0, at, at);  // out
        multiply({.form = NT, .m = t, .n = t, .k = d, .stride_a = wide, .stride_b = wide, .stride_c = t}, at, at, 0);  // d_weights
        multiply({.form = TN, .m = t, .n = d, .k = t, .stride_a = t, .stride_b = wide, .stride_c = wide}, 0, at, at);  // d_v
        multiply({.form = NN, .m = t, .n = d, .k = t, .stride_a = t, .stride_b = wide, .stride_c = wide}, 0, at, at);  // d_q
        multiply({.form = TN, .m = t, .n = d, .k = t, .stride_a = t, .stride_b = wide, .stride_c = wide}, 0, at, at);  // d_k
      }
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
  /// One product on left_, right_, out_ from the given elements on.
  void multiply(const tensor::Product& p, std::int64_t a_at, std::int64_t b_at, std::int64_t c_at) {
    const bool transpose_a = p.form == tensor::Form::TN;
    const bool transpose_b = p.form == tensor::Form::NT;
    const auto from = [](const tensor::Buffer<float>& buffer, std::int64_t at) {
      return buffer.span().subspan(static_cast<std::size_t>(at));
    };
    const tensor::Matrix<const float> a{from(left_, a_at), transpose_a ? p.k : p.m, transpose_a ? p.m : p.k, p.stride_a};
    const tensor::Matrix<const float> b{from(right_, b_at), transpose_b ? p.n : p.k, transpose_b ? p.k : p.n, p.stride_b};
    const tensor::Matrix<float> c{from(out_, c_at), p.m, p.n, p.stride_c};
    matmul_.multiply<float>(p.form, a, b, c, p.into);
  }
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

/// The mean CPU time of one f() over `times`.
template <class F>
double cpu_seconds(int times, F f) {
  const Seconds before = thread_cpu_time();
  for (int i = 0; i < times; ++i) f();
  return (thread_cpu_time() - before).value / times;
}

int run(const std::string& name, int rounds, int steps) {
  Trainer trainer(workload(name));
  fmt::print("{}", trainer.choices());
  double loss = trainer.step();
  trainer.linear_alone();
  trainer.attention_alone();
  std::vector<double> step_s, linear_s, attention_s, ratios;
  for (int round = 0; round < rounds; ++round) {
    step_s.push_back(cpu_seconds(steps, [&] { loss = trainer.step(); }));
    linear_s.push_back(cpu_seconds(steps, [&] { trainer.linear_alone(); }));
    attention_s.push_back(cpu_seconds(steps, [&] { trainer.attention_alone(); }) / 2);
    ratios.push_back(step_s.back() / (linear_s.back() + attention_s.back()));
    fmt::print("round {} step_s {:.5f} linear_s {:.5f} attention_s {:.5f} ratio {:.3f}\n", round, step_s.back(), linear_s.back(),
               attention_s.back(), ratios.back());
  }
  const double step = median(step_s);
  fmt::print("model {} loss {:.4f} step_s {:.5f} tokens_per_s {:.0f} gflop_per_s {:.1f} linear_s {:.5f} attention_s {:.5f} ratio {:.3f}\n",
             name, loss, step, static_cast<double>(trainer.tokens()) / step, trainer.flops() / step * 1e-9, median(linear_s),
             median(attention_s), median(ratios));
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
