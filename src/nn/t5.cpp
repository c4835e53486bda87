#include "twinax/nn/t5.hpp"

#include <algorithm>
#include <string>

#include "twinax/base/error.hpp"
#include "twinax/tensor/kernels.hpp"

#include "nn/checks.hpp"
#include "nn/logit_loss.hpp"
#include "nn/t5_blocks.hpp"
#include "nn/unit_writer.hpp"

namespace twinax::nn {
namespace {

std::vector<Stage> t5_stages(const T5Shape& shape) {
  std::vector<Stage> stages{{"embed", 0}};
  int unit = 0;
  for (std::int64_t block = 0; block < shape.layers; ++block) stages.push_back({"encoder.block." + std::to_string(block), ++unit});
  stages.push_back({"bridge", 0});
  for (std::int64_t block = 0; block < shape.decoder_layers; ++block) stages.push_back({"decoder.block." + std::to_string(block), ++unit});
  stages.push_back({"head", 0});
  return stages;
}

/// The parameters of the root unit, or their gradients, in the order of t5_units.
template <class T>
struct RootParameters {
  RootParameters(const T5Shape& shape, std::span<T> flat) {
    shared = take(flat, shape.vocabulary * shape.width);
    encoder_norm = take(flat, shape.width);
    decoder_norm = take(flat, shape.width);
    head = take(flat, shape.vocabulary * shape.width);
  }
  std::span<T> shared, encoder_norm, decoder_norm, head;  // [V, C], [C], [C], [V, C]
};

template <class Real>
class T5 final : public Model<Real> {
 public:
  T5(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, const ModelMemory& memory, bool checkpoints);

  [[nodiscard]] std::span<const UnitSpec> units() const override { return units_; }
  [[nodiscard]] std::span<const Stage> stages() const override { return stages_; }
  void start(const TokenBatch& batch) override;
  void forward(std::size_t stage, std::span<const Real> parameters) override;
  void backward(std::size_t stage, std::span<const Real> parameters, std::span<Real> gradients, Real scale) override;
  [[nodiscard]] double loss_sum() const override { return loss_.loss_sum(); }
  [[nodiscard]] Flops forward_flops(std::size_t stage, std::int64_t sequences) const override;
  [[nodiscard]] Flops backward_flops(std::size_t stage, std::int64_t sequences) const override {
    return forward_flops(stage, sequences) * 2;
  }

 private:
  void check_batch(const TokenBatch& batch) const;
  void bridge_forward(const RootParameters<const Real>& root);
  void bridge_backward(const RootParameters<const Real>& root, const RootParameters<Real>& d_root);
  void head_backward(const RootParameters<const Real>& root, const RootParameters<Real>& d_root, Real scale);

  /// Stages: 0 embed, then the encoder's blocks, the bridge, the decoder's blocks, the head.
  [[nodiscard]] std::size_t bridge() const { return encoder_streams_.size(); }
  [[nodiscard]] T5EncoderBlock<Real>& encoder(std::size_t block) const { return *encoder_[std::min(block, encoder_.size() - 1)]; }
  [[nodiscard]] T5DecoderBlock<Real>& decoder(std::size_t block) const { return *decoder_[std::min(block, decoder_.size() - 1)]; }
  [[nodiscard]] std::span<Real> encoder_stream(std::size_t block) const {
    return encoder_streams_[block].first(running_.encoder_rows() * shape_.width);
  }
  [[nodiscard]] std::span<Real> decoder_stream(std::size_t block) const {
    return decoder_streams_[block].first(running_.decoder_rows() * shape_.width);
  }
  [[nodiscard]] std::span<Real> encoded() const { return encoded_.first(running_.encoder_rows() * shape_.width); }

  T5Shape shape_;
  std::int64_t max_sequences_;
  std::vector<UnitSpec> units_;
  std::vector<Stage> stages_;
  T5Workspace<Real> workspace_;
  T5PositionBias<Real> encoder_bias_, decoder_bias_;
  std::vector<std::unique_ptr<T5EncoderBlock<Real>>> encoder_;  // of each block, or one of all
  std::vector<std::unique_ptr<T5DecoderBlock<Real>>> decoder_;
  std::vector<tensor::Buffer<Real>> encoder_streams_, decoder_streams_;  // before each block, and after the last
  tensor::Buffer<Real> encoded_, encoded_rstd_;                          // [M, C], [M]: the encoder's normed output
  tensor::Buffer<Real> normed_, rstd_;                                   // [N, C], [N]: the decoder's
  LogitLoss<Real> loss_;
  tensor::Buffer<std::int32_t> inputs_, decoder_inputs_, targets_;  // [M], [N], [N]
  T5Running running_;
};

template <class Real>
T5<Real>::T5(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, const ModelMemory& memory, bool checkpoints)
    : shape_(shape),
      max_sequences_(max_sequences),
      units_(t5_units(shape)),
      stages_(t5_stages(shape)),
      workspace_(shape, max_sequences, memory),
      encoder_bias_(shape, /*is_decoder=*/false, memory.activations),
      decoder_bias_(shape, /*is_decoder=*/true, memory.activations),
      encoded_(max_sequences * shape.context * shape.width, memory.activations),
      encoded_rstd_(max_sequences * shape.context, memory.activations),
      normed_(max_sequences * shape.targets * shape.width, memory.activations),
      rstd_(max_sequences * shape.targets, memory.activations),
      loss_(shape.width, shape.vocabulary, max_sequences * shape.targets, matmul, memory.activations),
      inputs_(max_sequences * shape.context, memory.activations),
      decoder_inputs_(max_sequences * shape.targets, memory.activations),
      targets_(max_sequences * shape.targets, memory.activations) {
  for (std::int64_t block = 0; block < (checkpoints ? 1 : shape.layers); ++block) {
    encoder_.push_back(std::make_unique<T5EncoderBlock<Real>>(shape, max_sequences, matmul, workspace_, encoder_bias_));
  }
  for (std::int64_t block = 0; block < (checkpoints ? 1 : shape.decoder_layers); ++block) {
    decoder_.push_back(std::make_unique<T5DecoderBlock<Real>>(shape, max_sequences, matmul, workspace_, decoder_bias_));
  }
  for (std::int64_t block = 0; block <= shape.layers; ++block)
    encoder_streams_.emplace_back(max_sequences * shape.context * shape.width, memory.activations);
  for (std::int64_t block = 0; block <= shape.decoder_layers; ++block) {
    decoder_streams_.emplace_back(max_sequences * shape.targets * shape.width, memory.activations);
  }
}

template <class Real>
void T5<Real>::check_batch(const TokenBatch& batch) const {
  if (batch.sequences < 0 || batch.sequences > max_sequences_ || batch.length < 1 || batch.length > shape_.context || batch.targets < 1 ||
      batch.targets > shape_.targets) {
    throw InvalidArgument("a batch of " + std::to_string(batch.sequences) + " sequences of " + std::to_string(batch.length) +
                          " inputs and " + std::to_string(batch.targets) + " targets: this model was made for up to " +
                          std::to_string(max_sequences_) + " of 1 to " + std::to_string(shape_.context) + " and 1 to " +
                          std::to_string(shape_.targets));
  }
  if (batch.tokens.size() != static_cast<std::size_t>(batch.sequences * batch.row().tokens())) {
    throw InvalidArgument("a batch of " + std::to_string(batch.sequences) + " sequences takes " +
                          std::to_string(batch.sequences * batch.row().tokens()) + " tokens, inputs and targets; found " +
                          std::to_string(batch.tokens.size()));
  }
  check_tokens(batch.tokens, shape_.vocabulary);
}

template <class Real>
void T5<Real>::start(const TokenBatch& batch) {
  check_batch(batch);
  running_ = {.batch = batch.sequences, .length = batch.length, .targets = batch.targets};
  const auto row_tokens = static_cast<std::size_t>(batch.row().tokens());
  const auto length = static_cast<std::size_t>(batch.length);
  for (std::int64_t b = 0; b < batch.sequences; ++b) {
    const auto row = batch.tokens.subspan(static_cast<std::size_t>(b) * row_tokens, row_tokens);
    const auto targets = row.subspan(length);
    std::ranges::copy(row.first(length), inputs_.span().begin() + b * batch.length);
    std::ranges::copy(targets, targets_.span().begin() + b * batch.targets);
    const auto decoder_inputs = decoder_inputs_.span().begin() + b * batch.targets;
    decoder_inputs[0] = 0;
    std::copy(targets.begin(), targets.end() - 1, decoder_inputs + 1);
  }
}

template <class Real>
void T5<Real>::bridge_forward(const RootParameters<const Real>& root) {
  const std::int64_t rows = running_.encoder_rows();
  tensor::rms_norm_forward<Real>(encoder_stream(encoder_streams_.size() - 1), root.encoder_norm, encoded(), encoded_rstd_.first(rows));
  tensor::lookup_forward<Real>(decoder_inputs_.first(running_.decoder_rows()), shape_.width, root.shared, decoder_stream(0));
}

template <class Real>
void T5<Real>::forward(std::size_t stage, std::span<const Real> parameters) {
  check_call(stages_, units_, stage, parameters.size());
  if (stages_[stage].unit != 0) {
    if (stage < bridge()) {
      encoder(stage - 1).forward(running_, stage == 1, parameters, encoder_stream(stage - 1), encoder_stream(stage));
    } else {
      const std::size_t block = stage - bridge() - 1;
      decoder(block).forward(running_, block == 0, parameters, decoder_stream(block), encoded(), decoder_stream(block + 1));
    }
    return;
  }
  const RootParameters<const Real> root(shape_, parameters);
  if (stage == 0) {
    tensor::lookup_forward<Real>(inputs_.first(running_.encoder_rows()), shape_.width, root.shared, encoder_stream(0));
  } else if (stage == bridge()) {
    bridge_forward(root);
  } else {
    const std::int64_t rows = running_.decoder_rows();
    const std::span<Real> normed = normed_.first(rows * shape_.width);
    tensor::rms_norm_forward<Real>(decoder_stream(decoder_streams_.size() - 1), root.decoder_norm, normed, rstd_.first(rows));
    loss_.forward(normed, root.head, targets_.first(rows));
  }
}

template <class Real>
void T5<Real>::head_backward(const RootParameters<const Real>& root, const RootParameters<Real>& d_root, Real scale) {
  const std::int64_t rows = running_.decoder_rows();
  const std::int64_t elements = rows * shape_.width;
  const std::span<Real> d_normed = workspace_.narrow.first(elements);
  const std::span<Real> d_stream = workspace_.stream_gradient.first(elements);
  loss_.backward(normed_.first(elements), root.head, scale, d_root.head, workspace_.branch.first(elements), d_normed);
  std::ranges::fill(d_stream, Real(0));
  tensor::rms_norm_backward<Real>(d_normed, decoder_stream(decoder_streams_.size() - 1), root.decoder_norm, rstd_.first(rows), d_stream,
                                  d_root.decoder_norm);
  // What the stages before add to.
  std::ranges::fill(workspace_.encoder_gradient.first(running_.encoder_rows() * shape_.width), Real(0));
  std::ranges::fill(decoder_bias_.gradients.span(), Real(0));
  std::ranges::fill(encoder_bias_.gradients.span(), Real(0));
}

template <class Real>
void T5<Real>::bridge_backward(const RootParameters<const Real>& root, const RootParameters<Real>& d_root) {
  tensor::lookup_backward<Real>(decoder_inputs_.first(running_.decoder_rows()), shape_.width,
                                workspace_.stream_gradient.first(running_.decoder_rows() * shape_.width), d_root.shared);
  const std::int64_t rows = running_.encoder_rows();
  const std::span<Real> d_stream = workspace_.stream_gradient.first(rows * shape_.width);
  std::ranges::fill(d_stream, Real(0));
  tensor::rms_norm_backward<Real>(workspace_.encoder_gradient.first(rows * shape_.width), encoder_stream(encoder_streams_.size() - 1),
                                  root.encoder_norm, encoded_rstd_.first(rows), d_stream, d_root.encoder_norm);
}

template <class Real>
void T5<Real>::backward(std::size_t stage, std::span<const Real> parameters, std::span<Real> gradients, Real scale) {
  check_call(stages_, units_, stage, parameters.size());
  check_call(stages_, units_, stage, gradients.size());
  if (stages_[stage].unit != 0) {
    if (stage < bridge()) {
      encoder(stage - 1).backward(running_, stage == 1, parameters, gradients, encoder_stream(stage - 1));
    } else {
      const std::size_t block = stage - bridge() - 1;
      decoder(block).backward(running_, block == 0, parameters, gradients, decoder_stream(block), encoded());
    }
    return;
  }
  const RootParameters<const Real> root(shape_, parameters);
  const RootParameters<Real> d_root(shape_, gradients);
  if (stage == 0) {
    tensor::lookup_backward<Real>(inputs_.first(running_.encoder_rows()), shape_.width,
                                  workspace_.stream_gradient.first(running_.encoder_rows() * shape_.width), d_root.shared);
  } else if (stage == bridge()) {
    bridge_backward(root, d_root);
  } else {
    head_backward(root, d_root, scale);
  }
}

template <class Real>
Flops T5<Real>::forward_flops(std::size_t stage, std::int64_t sequences) const {
  return t5_forward_flops(shape_, stage) * static_cast<double>(sequences);
}

}  // namespace

Flops t5_forward_flops(const T5Shape& shape, std::size_t stage) {
  const auto c = static_cast<double>(shape.width);
  const auto hd = static_cast<double>(shape.heads * shape.head_width);
  const auto f = static_cast<double>(shape.feed_forward);
  const auto s = static_cast<double>(shape.context);
  const auto t = static_cast<double>(shape.targets);
  const std::vector<Stage> stages = t5_stages(shape);
  if (stage + 1 == stages.size()) return {2 * t * c * static_cast<double>(shape.vocabulary)};
  if (stages[stage].unit == 0) return {0};
  if (stage <= static_cast<std::size_t>(shape.layers)) return {2 * s * (4 * c * hd + 3 * c * f) + 4 * s * s * hd};
  return {2 * t * (6 * c * hd + 3 * c * f) + 2 * s * 2 * c * hd + 4 * t * t * hd + 4 * t * s * hd};
}

Flops t5_step_flops(const T5Shape& shape) {
  Flops forward{0};
  for (std::size_t stage = 0; stage < t5_stages(shape).size(); ++stage) forward += t5_forward_flops(shape, stage);
  return forward * 3;
}

template <class Real>
std::unique_ptr<Model<Real>> make_t5(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, const ModelMemory& memory,
                                     bool checkpoints) {
  if (max_sequences < 0) throw InvalidArgument("a model for up to " + std::to_string(max_sequences) + " sequences");
  (void)t5_units(shape);  // refuses a shape that can't be before anything is allocated for it
  return std::make_unique<T5<Real>>(shape, max_sequences, matmul, memory, checkpoints);
}

template std::unique_ptr<Model<float>> make_t5<float>(const T5Shape&, std::int64_t, tensor::Matmul&, const ModelMemory&, bool);
template std::unique_ptr<Model<double>> make_t5<double>(const T5Shape&, std::int64_t, tensor::Matmul&, const ModelMemory&, bool);

}  // namespace twinax::nn
