#include "nn/t5_blocks.hpp"

namespace twinax::nn {
namespace {

template <class T>
struct EncoderParameters {
  EncoderParameters(const T5Shape& shape, bool is_first, std::span<T> flat) : attention(shape, is_first, flat), feed_forward(shape, flat) {}
  T5AttentionParameters<T> attention;
  T5FeedForwardParameters<T> feed_forward;
};

template <class T>
struct DecoderParameters {
  DecoderParameters(const T5Shape& shape, bool is_first, std::span<T> flat)
      : attention(shape, is_first, flat), cross(shape, false, flat), feed_forward(shape, flat) {}
  T5AttentionParameters<T> attention, cross;
  T5FeedForwardParameters<T> feed_forward;
};

}  // namespace

template <class Real>
T5EncoderBlock<Real>::T5EncoderBlock(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace,
                                     T5PositionBias<Real>& bias)
    : shape_(shape),
      bias_(bias),
      attention_(shape, /*is_decoder=*/false, max_sequences, matmul, workspace),
      feed_forward_(shape, max_sequences * shape.context, matmul, workspace),
      middle_(max_sequences * shape.context * shape.width, workspace.memory.activations) {}

template <class Real>
void T5EncoderBlock<Real>::forward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<const Real> in,
                                   std::span<Real> out) {
  const EncoderParameters<const Real> p(shape_, is_first, parameters);
  const std::span<Real> middle = middle_.first(running.encoder_rows() * shape_.width);
  attention_.forward(running.batch, running.length, p.attention, bias_, in, middle);
  feed_forward_.forward(p.feed_forward, middle, out);
}

template <class Real>
void T5EncoderBlock<Real>::backward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<Real> gradients,
                                    std::span<const Real> in) {
  const EncoderParameters<const Real> p(shape_, is_first, parameters);
  const EncoderParameters<Real> g(shape_, is_first, gradients);
  feed_forward_.backward(p.feed_forward, g.feed_forward, middle_.first(running.encoder_rows() * shape_.width));
  attention_.backward(running.batch, running.length, p.attention, g.attention, bias_, in);
}

template <class Real>
T5DecoderBlock<Real>::T5DecoderBlock(const T5Shape& shape, std::int64_t max_sequences, tensor::Matmul& matmul, T5Workspace<Real>& workspace,
                                     T5PositionBias<Real>& bias)
    : shape_(shape),
      bias_(bias),
      attention_(shape, /*is_decoder=*/true, max_sequences, matmul, workspace),
      cross_(shape, max_sequences, matmul, workspace),
      feed_forward_(shape, max_sequences * shape.targets, matmul, workspace),
      after_attention_(max_sequences * shape.targets * shape.width, workspace.memory.activations),
      after_cross_(max_sequences * shape.targets * shape.width, workspace.memory.activations) {}

template <class Real>
tensor::AttentionShape T5DecoderBlock<Real>::cross_shape(const T5Running& running) const {
  return {.batch = running.batch,
          .queries = running.targets,
          .keys = running.length,
          .heads = shape_.heads,
          .head_width = shape_.head_width,
          .causal = false};
}

template <class Real>
void T5DecoderBlock<Real>::forward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<const Real> in,
                                   std::span<const Real> encoded, std::span<Real> out) {
  const DecoderParameters<const Real> p(shape_, is_first, parameters);
  const std::span<Real> after_attention = after_attention_.first(running.decoder_rows() * shape_.width);
  const std::span<Real> after_cross = after_cross_.first(running.decoder_rows() * shape_.width);
  attention_.forward(running.batch, running.targets, p.attention, bias_, in, after_attention);
  cross_.forward(cross_shape(running), p.cross, after_attention, encoded, after_cross);
  feed_forward_.forward(p.feed_forward, after_cross, out);
}

template <class Real>
void T5DecoderBlock<Real>::backward(const T5Running& running, bool is_first, std::span<const Real> parameters, std::span<Real> gradients,
                                    std::span<const Real> in, std::span<const Real> encoded) {
  const DecoderParameters<const Real> p(shape_, is_first, parameters);
  const DecoderParameters<Real> g(shape_, is_first, gradients);
  feed_forward_.backward(p.feed_forward, g.feed_forward, after_cross_.first(running.decoder_rows() * shape_.width));
  cross_.backward(cross_shape(running), p.cross, g.cross, after_attention_.first(running.decoder_rows() * shape_.width), encoded);
  attention_.backward(running.batch, running.targets, p.attention, g.attention, bias_, in);
}

template class T5EncoderBlock<float>;
template class T5EncoderBlock<double>;
template class T5DecoderBlock<float>;
template class T5DecoderBlock<double>;

}  // namespace twinax::nn
