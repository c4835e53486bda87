#include "twinax/nn/gpt.hpp"

#include <algorithm>
#include <string>

#include "twinax/base/error.hpp"

#include "nn/checks.hpp"
#include "nn/gpt_block.hpp"
#include "nn/gpt_head.hpp"

namespace twinax::nn {
namespace {

std::vector<Stage> gpt_stages(const GptShape& shape) {
  std::vector<Stage> stages{{"embed", 0}};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) stages.push_back({"h." + std::to_string(layer), static_cast<int>(layer) + 1});
  stages.push_back({"head", 0});
  return stages;
}

template <class Real>
class Gpt final : public Model<Real> {
 public:
  Gpt(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, const ModelMemory& memory, bool checkpoints)
      : shape_(shape),
        max_sequences_(max_sequences),
        units_(gpt_units(shape)),
        stages_(gpt_stages(shape)),
        workspace_(shape, max_sequences, memory),
        head_(shape, max_sequences, matmul, workspace_) {
    const std::int64_t rows = max_sequences * shape.context;
    inputs_ = tensor::Buffer<std::int32_t>(rows, memory.activations);
    targets_ = tensor::Buffer<std::int32_t>(rows, memory.activations);
    running_.batch.width = shape.width;
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      if (kept_.empty() || !checkpoints) kept_.push_back(std::make_unique<Kept<Real>>(shape, max_sequences, memory.activations));
      blocks_.push_back(std::make_unique<Block<Real>>(shape, matmul, workspace_, *kept_.back()));
    }
    for (std::int64_t layer = 0; layer <= shape.layers; ++layer) streams_.emplace_back(rows * shape.width, memory.activations);
  }

  [[nodiscard]] std::span<const UnitSpec> units() const override { return units_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_; }
  void start(const TokenBatch& batch) override;
  void forward(std::size_t stage, std::span<const Real> parameters) override;
  void backward(std::size_t stage, std::span<const Real> parameters, std::span<Real> gradients, Real scale) override;
  [[nodiscard]] double loss_sum() const override { return head_.loss_sum(); }
  [[nodiscard]] Flops forward_flops(std::size_t stage, std::int64_t sequences) const override;
  [[nodiscard]] Flops backward_flops(std::size_t stage, std::int64_t sequences) const override {
    return forward_flops(stage, sequences) * 2;
  }

 private:
  /// The residual stream [N, C] before block `layer`.
  [[nodiscard]] std::span<Real> stream(std::size_t layer) const { return streams_[layer].first(running_.rows() * shape_.width); }

  GptShape shape_;
  std::int64_t max_sequences_;
  std::vector<UnitSpec> units_;
  std::vector<Stage> stages_;
  Workspace<Real> workspace_;
  Head<Real> head_;
  std::vector<std::unique_ptr<Kept<Real>>> kept_;  // of each block, or one of all
  std::vector<std::unique_ptr<Block<Real>>> blocks_;
  std::vector<tensor::Buffer<Real>> streams_;  // [N, C] before each block, and after the last
  tensor::Buffer<std::int32_t> inputs_, targets_;
  Running running_;
};

template <class Real>
void Gpt<Real>::start(const TokenBatch& batch) {
  if (batch.sequences < 0 || batch.sequences > max_sequences_ || batch.length < 1 || batch.length > shape_.context) {
    throw InvalidArgument("a batch of " + std::to_string(batch.sequences) + " sequences of " + std::to_string(batch.length) +
                          " tokens: this model was made for up to " + std::to_string(max_sequences_) + " of 1 to " +
                          std::to_string(shape_.context));
  }
  if (batch.targets != 0) throw InvalidArgument("a batch with targets apart from its inputs: a GPT predicts each next token");
  const std::int64_t row_tokens = batch.length + 1;
  if (batch.tokens.size() != static_cast<std::size_t>(batch.sequences * row_tokens)) {
    throw InvalidArgument("a batch of " + std::to_string(batch.sequences) + " sequences takes " +
                          std::to_string(batch.sequences * row_tokens) + " tokens, each one more than its length; found " +
                          std::to_string(batch.tokens.size()));
  }
  check_tokens(batch.tokens, shape_.vocabulary);
  running_.batch.batch = batch.sequences;
  running_.batch.length = batch.length;
  const std::span<std::int32_t> inputs = inputs_.first(running_.rows());
  const std::span<std::int32_t> targets = targets_.first(running_.rows());
  for (std::int64_t b = 0; b < batch.sequences; ++b) {
    const auto row = batch.tokens.subspan(static_cast<std::size_t>(b * row_tokens), static_cast<std::size_t>(row_tokens));
    std::copy(row.begin(), row.end() - 1, inputs.begin() + b * batch.length);
    std::copy(row.begin() + 1, row.end(), targets.begin() + b * batch.length);
  }
  running_.inputs = inputs;
  running_.targets = targets;
}

template <class Real>
void Gpt<Real>::forward(std::size_t stage, std::span<const Real> parameters) {
  check_call(stages_, units_, stage, parameters.size());
  if (stage == 0) {
    const RootParameters<const Real> root(shape_, parameters);
    tensor::embedding_forward<Real>(running_.batch, running_.inputs, root.wte, root.wpe, stream(0));
  } else if (stage + 1 == stages_.size()) {
    head_.forward(running_, RootParameters<const Real>(shape_, parameters), stream(stage - 1));
  } else {
    const BlockParameters<const Real> block(shape_.width, parameters);
    blocks_[stage - 1]->forward(running_, block, stream(stage - 1), stream(stage));
  }
}

template <class Real>
void Gpt<Real>::backward(std::size_t stage, std::span<const Real> parameters, std::span<Real> gradients, Real scale) {
  check_call(stages_, units_, stage, parameters.size());
  check_call(stages_, units_, stage, gradients.size());
  if (stage == 0) {
    const RootParameters<Real> d_root(shape_, gradients);
    tensor::embedding_backward<Real>(running_.batch, running_.inputs, workspace_.stream_gradient.first(running_.rows() * shape_.width),
                                     d_root.wte, d_root.wpe);
  } else if (stage + 1 == stages_.size()) {
    head_.backward(running_, RootParameters<const Real>(shape_, parameters), RootParameters<Real>(shape_, gradients), stream(stage - 1),
                   scale);
  } else {
    const BlockParameters<const Real> block(shape_.width, parameters);
    const BlockParameters<Real> d_block(shape_.width, gradients);
    blocks_[stage - 1]->backward(running_, block, d_block, stream(stage - 1));
  }
}

template <class Real>
Flops Gpt<Real>::forward_flops(std::size_t stage, std::int64_t sequences) const {
  return gpt_forward_flops(shape_, stage) * static_cast<double>(sequences);
}

}  // namespace

Flops gpt_forward_flops(const GptShape& shape, std::size_t stage) {
  const auto c = static_cast<double>(shape.width);
  const auto t = static_cast<double>(shape.context);
  if (stage == 0) return {0};
  if (stage == static_cast<std::size_t>(shape.layers) + 1) return {t * 2 * static_cast<double>(shape.vocabulary) * c};
  return {t * (2 * 12 * c * c + 2 * t * c)};
}

Flops gpt_step_flops(const GptShape& shape) {
  Flops forward{0};
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(shape.layers) + 2; ++stage) forward += gpt_forward_flops(shape, stage);
  return forward * 3;
}

std::vector<GptProduct> gpt_products(const GptShape& shape, tensor::Precision precision, std::int64_t sequences, std::int64_t length) {
  const std::int64_t n = sequences * length;
  const std::int64_t c = shape.width;
  const std::int64_t v = shape.vocabulary;
  std::vector<GptProduct> products;
  for (const tensor::LinearShape& linear : {tensor::LinearShape{n, c, 3 * c}, {n, c, c}, {n, c, 4 * c}, {n, 4 * c, c}}) {
    for (const tensor::Product& product : linear_products(precision, linear)) products.push_back({product, shape.layers});
  }
  const std::int64_t rows = Head<float>::kRows;
  const auto forward = [&](std::int64_t m) { return linear_products(precision, {m, c, v}).front(); };
  if (n >= rows) products.push_back({forward(rows), n / rows});
  if (n % rows > 0) products.push_back({forward(n % rows), 1});
  const auto whole = linear_products(precision, {n, c, v});
  products.push_back({whole[1], 1});
  products.push_back({whole[2], 1});
  return products;
}

void prepare_gpt(const GptShape& shape, tensor::Precision precision, std::int64_t sequences, std::int64_t length, tensor::Matmul& matmul) {
  std::vector<tensor::Product> products;
  for (const GptProduct& product : gpt_products(shape, precision, sequences, length)) products.push_back(product.product);
  matmul.prepare(products);
}

template <class Real>
std::unique_ptr<Model<Real>> make_gpt(const GptShape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, const ModelMemory& memory,
                                      bool checkpoints) {
  if (max_sequences < 0) throw InvalidArgument("a model for up to " + std::to_string(max_sequences) + " sequences");
  (void)gpt_units(shape);  // refuses a shape that can't be before anything is allocated for it
  return std::make_unique<Gpt<Real>>(shape, max_sequences, matmul, memory, checkpoints);
}

template std::unique_ptr<Model<float>> make_gpt<float>(const GptShape&, std::int64_t, tensor::Matmul&, const ModelMemory&, bool);
template std::unique_ptr<Model<double>> make_gpt<double>(const GptShape&, std::int64_t, tensor::Matmul&, const ModelMemory&, bool);

}  // namespace twinax::nn
